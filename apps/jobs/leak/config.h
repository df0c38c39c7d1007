#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/train/run_settings.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// Where the training and evaluation segments live.
enum class LeakResidence : unsigned char {
  host,    ///< In host memory; batches are gathered there.
  device,  ///< In the device's memory; a batch is one gather kernel.
};

/// Where the segments come from and how batches are made of them.
struct LeakData {
  std::filesystem::path training;    ///< HDF5: segments_mel, labels.
  std::filesystem::path validation;  ///< Selects weights and threshold.
  std::filesystem::path testing;     ///< Never used to select anything.
  Bytes resident{4ULL << 30};        ///< Most of one file that is kept in memory.
  LeakResidence residence = LeakResidence::host;
  std::filesystem::path stage;  ///< Folder a file is copied to before; empty: none.
  int prefetch = 4;             ///< Batches ahead of the trainer.
};

enum class LeakPrecision : unsigned char { fp32, bf16 };

/// How the model is trained.
struct LeakTraining {
  int epochs = 200;
  std::int64_t batch = 8192;
  std::int64_t evaluation_batch = 4096;
  double learning_rate = 1e-3;
  double lowest_rate = 1e-6;
  int warmup_epochs = 3;
  double weight_decay = 0.01;
  double clip = 1.0;       ///< Norm of all gradients; 0: none.
  double auxiliary = 0.3;  ///< Factor of the auxiliary head's loss.
  double leak_boost = 1.0;
  LeakPrecision precision = LeakPrecision::fp32;
  int early_stopping = 15;            ///< Epochs without a better F1; 0: never.
  std::int64_t checkpoint_every = 0;  ///< Steps; 0: only after an epoch and when stopped.
  bool channels_last = true;
};

/// The configuration of the job leak.
struct LeakConfig : RunSettings {
  LeakData data;
  AugmentList augment;
  LeakTraining training;
};

/// Where keys of the job have gone.
std::vector<MovedKey> old_leak_keys();

/// The keys of the job beside `kind`.
void describe(Fields& fields, LeakConfig& config);

}  // namespace headrace::inline v1::app
