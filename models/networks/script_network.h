#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::models {

/// How a TorchScript file is read.
struct ScriptOptions {
  std::string main = {};  ///< of outputs by name, the one that predictions are made of
  std::vector<std::string> non_persistent = {};  ///< buffers that are no part of the state
};

/// A second name of a tensor of a script, as tied weights have.
struct ScriptAlias {
  std::string name;
  std::string of;  ///< the name under which the network lists the tensor
};

/// Reads a network that `torch.jit.script` made (docs/torchscript.md). A TorchScript file is a
/// program: **read trusted files only**.
///
/// Parameters and buffers have the names of the Python module, each tensor once, under its first
/// name; parameters that the file keeps without gradient are listed as buffers. Buffers registered
/// with `persistent=False` look like others in the file: they are left out of the state if the file
/// holds the extra file `state_names`, the names of the module's `state_dict` by lines, or if the
/// options name them. They move with the network and stand in what `save_script` writes.
///
/// `outputs()` takes a tensor as `main`; of a tuple or list the first tensor as `main`, the others
/// as `deep`, None left out; of a dict the entry `options.main`, else `main`, else `out`, else its
/// only one as `main`, the others as `extra`. It throws `ConfigError` for a dict without a `main`.
///
/// It has no blocks: `checkpoint` throws `ConfigError`.
///
/// The network starts in training mode on the CPU; parts whose parameters the file keeps without
/// gradient are frozen parts, see `Network::set_training`. It runs operation by operation as eager
/// PyTorch does, without TorchScript's optimiser, fusers and autocast pass, whatever the process
/// has set for them; nothing of the process is changed. Regions of autocast inside a script have no
/// effect.
///
/// Throws `ConfigError`, with the way out, for a file that is missing or damaged or is no
/// TorchScript; for a script that is frozen, was traced with BatchNorm or dropout in it, or has
/// parameters that are neither float32 nor float64; for a forward pass that takes other than one
/// tensor or gives other than the above.
HEADRACE_API std::unique_ptr<Network> read_script_network(const std::filesystem::path& path,
                                                          const ScriptOptions& options = {});

/// The second names; empty for a network of another kind.
HEADRACE_API std::vector<ScriptAlias> script_aliases(const Network& network);

/// Writes the network with its present weights as TorchScript, for the CPU, in evaluation mode and
/// row-major layout; the network is as it was. Atomic. Throws `ConfigError` for a network that
/// `read_script_network` did not read, `ResourceError` where the file cannot be written.
HEADRACE_API void save_script(const Network& network, const std::filesystem::path& path);

}  // namespace headrace::inline v1::models
