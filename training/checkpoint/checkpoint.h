#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/optimizer/schedules.h>
#include <headrace/training/trainer/early_stopping.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// How far a run is: everything but tensors.
struct Progress {
  std::int64_t stage = 0;          ///< of the course, from 0; what follows is of this stage
  std::int64_t epoch = 0;          ///< epoch that is running, from 0
  std::int64_t step = 0;           ///< optimiser steps done, those that were skipped counted
  std::int64_t skipped = 0;        ///< of them, because a gradient was not finite
  bool trained = false;            ///< all batches of the epoch are done, its evaluation is not
  Position position = {};          ///< where the training data go on
  std::int64_t samples = 0;        ///< of the epoch so far
  std::int64_t epoch_skipped = 0;  ///< steps of the epoch so far that were skipped
  PlateauState plateau = {};
  EarlyStoppingState early_stopping = {};
  std::int64_t best_epoch = -1;  ///< -1: none was evaluated yet
  int skipped_in_a_row = 0;      ///< steps, up to the newest, but for fp16's overflows
  int overflows_in_a_row = 0;    ///< of fp16 under a finite loss, likewise
  int reloads = 0;               ///< that a policy has asked for in the stage
  double rate_factor = 1.0;      ///< of all rates, by these reloads
  std::vector<std::int64_t> unfrozen_at = {};  ///< update of each change of the stage so far
  int halvings = 0;  ///< of the loader's batches, for lack of memory: 2^n micro-batches each
  bool checkpointed = false;  ///< all blocks make their activations again, for lack of memory
  std::int64_t evaluation_rows = 0;  ///< at once, for lack of memory; 0: the loader's batch

  friend bool operator==(const Progress&, const Progress&) = default;
};

/// What a run needs to go on as if it had never stopped.
struct Checkpoint {
  static constexpr int format_version = 4;

  Progress progress = {};
  TensorMap weights = {};  ///< parameters and buffers
  TensorMap optimizer = {};
  TensorMap ema = {};       ///< averaged weights; empty where the stage averages none
  TensorMap scaler = {};    ///< of fp16's loss scale; else empty
  TensorMap rng = {};       ///< of `capture_rng_state`
  TensorMap counters = {};  ///< sums of the running epoch that live in tensors
  TensorMap fitted = {};    ///< what the metric of the newest validation has chosen
  /// What must be the same in the run that goes on: every key of the configuration that changes
  /// what is learnt, the records, the member.
  std::map<std::string, std::string> identity = {};
  std::map<std::string, std::string> notes = {};  ///< of the recipe: task, network, classes
};

/// Writes a checkpoint as a safetensors file with a checksum over all of it, as `write_safetensors`
/// does: atomically, tensor by tensor, and compared with what is read back before it takes its
/// name. Throws `CheckpointError`, before anything is written where a weight, averaged or not, is
/// not finite, and where identity or notes are not UTF-8.
HEADRACE_API void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Reads a checkpoint and checks it whole: checksum, format version, content, and that all weights,
/// averaged ones too, are finite. Throws `CheckpointError`.
HEADRACE_API Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Throws `CheckpointError` that lists every difference, `name: "in the file" is now "of this
/// run"`. Names of `defaults` may be missing in the file: a later release has added them, and with
/// their defaults they change nothing.
HEADRACE_API void require_same_identity(const std::map<std::string, std::string>& in_file,
                                        const std::map<std::string, std::string>& of_run,
                                        const std::set<std::string>& defaults = {});

}  // namespace headrace::inline v1::training
