#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/loss_terms.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace headrace::inline v1::training {

/// The weights that a validation has selected, with all that a prediction needs.
struct BestWeights {
  TensorMap weights = {};
  std::int64_t stage = 0;        ///< from 0
  std::int64_t epoch = -1;       ///< of that stage, from 0
  std::string selected_by = {};  ///< a figure of the validation; empty: nothing was validated
  Figures validation = {};
  std::string unread = {};  ///< `UnreadRecords::words` of that validation; empty: all were read
  TensorMap fitted = {};    ///< by that validation's metric
  std::map<std::string, std::string> notes = {};  ///< see `Recipe::notes`
};

/// Writes a safetensors file of the weights, under the network's names, whose header holds the rest
/// as text: notes by their names, "headrace.stage", ".epoch" and ".selected_by", ".validation" and
/// ".fitted" as JSON, ".unread" where there is one. Atomic. Throws `CheckpointError`.
HEADRACE_API void write_best_weights(const std::filesystem::path& path, const BestWeights& best);

/// Reads such a file, or a checkpoint, whose weights are those of its moment. Of any other
/// safetensors file the tensors are the weights, and the rest is empty. Throws `CheckpointError`.
HEADRACE_API BestWeights read_best_weights(const std::filesystem::path& path);

}  // namespace headrace::inline v1::training
