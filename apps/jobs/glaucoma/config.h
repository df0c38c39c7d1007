#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/train/run_settings.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// Where the samples come from and how batches are made of them.
struct GlaucomaData {
  std::filesystem::path file;   ///< HDF5: features/*, labels, split.
  Bytes resident{2ULL << 30};   ///< Most of the file that is kept in memory.
  std::filesystem::path stage;  ///< Folder the file is copied to first; empty: none.
  CacheSettings cache;          ///< Of pair means.
  int prefetch = 4;             ///< Batches ahead of the trainer.
};

enum class GlaucomaLoss : unsigned char { focal, clamped_focal, cross_entropy };
enum class GlaucomaSchedule : unsigned char { plateau, one_cycle };

/// How the model is trained.
struct GlaucomaTraining {
  int epochs = 50;
  std::int64_t batch = 32;
  std::int64_t evaluation_batch = 128;
  int folds = 5;
  std::optional<int> fold;  ///< Only this one; none: all, one after the other.
  GlaucomaLoss loss = GlaucomaLoss::focal;
  double gamma = 2.0;
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  GlaucomaSchedule schedule = GlaucomaSchedule::plateau;
  double plateau_factor = 0.5;
  int plateau_patience = 5;
  int early_stopping = 10;            ///< Epochs without a better accuracy; 0: never.
  std::int64_t checkpoint_every = 0;  ///< Steps; 0: only after an epoch and when stopped.
  bool channels_last = true;
};

/// The configuration of the job glaucoma.
struct GlaucomaConfig : RunSettings {
  GlaucomaData data;
  AugmentList augment = augment_list("[{flip: 0.5}, {rotate: 10}]");
  GlaucomaTraining training;
};

/// Where keys of the job have gone.
std::vector<MovedKey> old_glaucoma_keys();

/// The keys of the job beside `kind`.
void describe(Fields& fields, GlaucomaConfig& config);

}  // namespace headrace::inline v1::app
