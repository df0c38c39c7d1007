#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/training/early_stopping.h>
#include <headrace/training/named_state.h>
#include <headrace/training/schedules.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace headrace::inline v1::training {

/// How far a run is: everything but tensors.
struct Progress {
  std::int64_t epoch = 0;    ///< epoch that is running, from 0
  std::int64_t step = 0;     ///< optimiser steps done since the start of the run
  bool trained = false;      ///< all batches of the epoch are done, its evaluation is not
  Position position = {};    ///< where the training data go on
  double loss_sum = 0.0;     ///< of the epoch so far, over its samples
  std::int64_t samples = 0;  ///< of the epoch so far
  PlateauState plateau = {};
  EarlyStoppingState early_stopping = {};
  std::int64_t best_epoch = -1;  ///< -1: none was evaluated yet

  friend bool operator==(const Progress&, const Progress&) = default;
};

/// What a run needs to go on as if it had never stopped.
struct Checkpoint {
  static constexpr int format_version = 1;

  Progress progress = {};
  TensorMap weights = {};  ///< parameters and buffers
  TensorMap optimizer = {};
  TensorMap rng = {};       ///< of `capture_rng_state`
  TensorMap counters = {};  ///< sums of the running epoch that live in tensors
  /// What must be the same in the run that goes on, such as the hash of the configuration, the
  /// pipeline's signature and the fold.
  std::map<std::string, std::string> identity = {};
};

/// Writes a checkpoint as a safetensors file, atomically (see `write_file_atomically`), with a
/// checksum over all of it; the file is read back and checked before it takes its name. Throws
/// `CheckpointError`.
HEADRACE_API void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Reads a checkpoint and checks it whole: checksum, format version and content. Throws
/// `CheckpointError`.
HEADRACE_API Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Throws `CheckpointError` that lists every difference, `name: "in the file" is now "of this
/// run"`.
HEADRACE_API void require_same_identity(const std::map<std::string, std::string>& in_file,
                                        const std::map<std::string, std::string>& of_run);

}  // namespace headrace::inline v1::training
