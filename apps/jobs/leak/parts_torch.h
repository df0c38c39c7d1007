#pragma once

#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/train/choose_device_torch.h>
#include <headrace/models/leak_decision.h>
#include <headrace/training/trainer.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::app {

/// The three files of the job and their segments.
struct LeakFiles {
  LeakFile training;
  LeakFile validation;
  LeakFile testing;
};

/// Reads labels and attributes. Throws DataError for files that do not fit each other.
LeakFiles read_leak_files(const LeakData& data);

/// The loaders of a run, on one runtime.
struct LeakLoaders {
  Loader train;
  Loader validation;
  Loader test;
};

/// The files' segments, as they are planned or opened.
struct LeakSources {
  std::shared_ptr<const Source> training;
  std::shared_ptr<const Source> validation;
  std::shared_ptr<const Source> testing;
};

/// Checks and lays out everything; reads no segment.
LeakLoaders build_leak_loaders(const LeakSources& sources, const LeakFiles& files,
                               const LeakConfig& config, const ChosenDevice& device,
                               const Runtime& runtime);

/// The job's loss, with class weights from the training labels, for outputs on that device.
training::Loss leak_training_loss(const LeakFile& training, const LeakTraining& options,
                                  c10::Device device);

/// How batches become examples: float [N, 1, mels, frames], mean 0 and deviation 1 over the
/// training set.
training::Unpack leak_unpack(const LeakFile& training, bool channels_last);

training::Precision leak_precision(const LeakTraining& training);

/// Warm-up and cosine, clipping, early stopping and what a checkpoint must agree on.
training::TrainerOptions leak_trainer_options(const LeakConfig& config, const ChosenDevice& device,
                                              const LeakFile& training,
                                              std::int64_t steps_per_epoch);

/// Probabilities of a leak of all segments of an evaluation, in order.
class LeakScores {
 public:
  /// They stay where the output is; batch 0 begins an evaluation.
  void add(const Batch& batch, const at::Tensor& output);
  /// Waits for the device.
  std::vector<float> probabilities() const;

 private:
  std::vector<at::Tensor> batches_;
};

/// How well scores tell leaks apart: areas under the ROC curve over segments and over recordings
/// (the mean of their segments), decisions at a threshold.
struct LeakFigures {
  double segment_auc = 0.0;
  double recording_auc = 0.0;
  models::LeakDecisions decisions;
};

models::LeakLayout layout_of(const LeakFile& file);

/// Figures at a threshold; below 0: at the best one.
LeakFigures leak_figures(const LeakScores& scores, const LeakFile& file, double threshold = -1.0);

}  // namespace headrace::inline v1::app
