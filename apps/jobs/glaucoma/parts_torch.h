#pragma once

#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/train/choose_device_torch.h>
#include <headrace/training/stratified_kfold.h>
#include <headrace/training/trainer.h>

#include <cstdint>
#include <memory>
#include <string>

namespace headrace::inline v1::app {

/// The loaders of one fold, on one runtime. `test` is the outer split.
struct GlaucomaLoaders {
  Loader train;
  Loader validation;
  Loader test;
};

/// Checks and lays out everything; reads no record. Throws DataError when a loader would give no
/// batch.
GlaucomaLoaders build_glaucoma_loaders(const GlaucomaRecords& records, const GlaucomaRows& rows,
                                       const training::Fold& fold, const GlaucomaConfig& config,
                                       const ChosenDevice& device, const Runtime& runtime);

/// The job's folds over GlaucomaRows::train.
std::vector<training::Fold> glaucoma_folds(const GlaucomaRows& rows, const GlaucomaConfig& config);

/// The loss that the configuration names.
training::Loss glaucoma_loss(const GlaucomaTraining& training);

/// How the batches of glaucoma_training_pipeline become examples.
training::Unpack glaucoma_unpack(bool channels_last);

/// Schedule, early stopping and what a checkpoint must agree on.
training::TrainerOptions glaucoma_trainer_options(const GlaucomaConfig& config,
                                                  const ChosenDevice& device, int fold,
                                                  std::int64_t steps_per_epoch);

}  // namespace headrace::inline v1::app
