#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/weight_names.h>
#include <headrace/training/checkpoint/named_state.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// The weights of a file: any safetensors file, or one of ours (`read_best_weights`). Throws
/// `CheckpointError`; for a pickle of Python (`.pt`, `.pth`, `.bin`), which is never opened, it
/// says how a safetensors file is made of it, or that it is a network from TorchScript.
HEADRACE_API TensorMap read_weights(const std::filesystem::path& path);

/// What became of the tensors of a weight file and of a network.
struct LoadedWeights {
  std::vector<std::string> loaded = {};    ///< of the network, now as in the file
  std::vector<std::string> fresh = {};     ///< of the network, still as initialised
  std::vector<std::string> left_out = {};  ///< of the file, by its own names
  std::string adapted = {};  ///< the first convolution, if it was made for other channels
  std::string prefix = {};   ///< of all names of the file, if it was passed over: "module."
};

/// One line for a person: how many tensors were loaded, which are new and why, what was left out.
HEADRACE_API std::string summary(const LoadedWeights& loaded);

/// Copies weights that were trained elsewhere into a network, by name, converting floating dtypes,
/// layout and device:
///
/// - The head stays as it is, and is named in `fresh`, where the file's has another count of
/// classes
///   or is not there.
/// - A first convolution for other channels is adapted as timm does: its sum over the file's
/// channels
///   for one, else the file's channels in turn, times the ratio of the counts.
/// - Weights without the prefix of `names.encoder` go into the encoder; the rest of the network
/// stays
///   as it is, and the file's own head is left out.
/// - `num_batches_tracked` may be missing.
/// - "module.", "_orig_mod." and "model." before every name of the file are passed over.
///
/// Throws `CheckpointError`, before anything is changed, if other tensors are missing, unexpected
/// or of another shape: it lists them, at most eight of each, and says what named network the
/// weights fit. Also for values that are not finite, or no floating numbers where the network has
/// such. `who` begins the message.
HEADRACE_API LoadedWeights load_pretrained(models::Network& network, const TensorMap& weights,
                                           const models::WeightNames& names,
                                           const std::string& who);

/// The same from a file, see `read_weights`.
HEADRACE_API LoadedWeights load_pretrained(models::Network& network,
                                           const std::filesystem::path& path,
                                           const models::WeightNames& names);

}  // namespace headrace::inline v1::training
