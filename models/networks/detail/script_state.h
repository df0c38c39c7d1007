#pragma once

#include <headrace/models/networks/network.h>
#include <headrace/models/networks/script_network.h>

#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

namespace headrace::inline v1::models::detail {

/// The tensors of a script, each once.
struct ScriptState {
  NamedTensors parameters;           ///< trained
  NamedTensors buffers;              ///< of the state, not trained
  NamedTensors others;               ///< buffers that are not persistent, and plain attributes
  std::vector<ScriptAlias> aliases;  ///< of parameters and buffers

  /// All three, in that order.
  std::vector<at::Tensor> all() const;
};

/// Lists the tensors by dotted name. Tensors of one storage, shape and strides become one in the
/// module, too, so that they stay one when they are moved.
ScriptState state_of_script(torch::jit::Module& module);

/// Moves those buffers to `others` that `names` lacks. Throws `ConfigError` that begins with `who`
/// if `names` is of another network.
void keep_named(ScriptState& state, const std::vector<std::string>& names, const std::string& who);

/// Moves those buffers to `others`. Throws `ConfigError` for one that does not exist.
void leave_out(ScriptState& state, const std::vector<std::string>& names, const std::string& who);

/// How values lie in memory after a move.
enum class Layout : unsigned char { as_it_is, channels_last, row_major };

/// Moves the values of tensors, which stay the same objects.
void place(const std::vector<at::Tensor>& tensors, at::Device device, Layout layout);

}  // namespace headrace::inline v1::models::detail
