#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// A tensor and the dotted name it has in a weight file, such as `block1.conv1.weight`.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

using NamedTensors = std::vector<NamedTensor>;

/// What a network gives for a batch.
struct Output {
  at::Tensor main = {};               ///< that predictions are made of, `[N, ...]`, or undefined
  std::vector<at::Tensor> deep = {};  ///< of deep supervision, the finest first
  std::map<std::string, at::Tensor> extra = {};  ///< of other heads, by name
  NamedTensors losses = {};  ///< made inside, scalars; added to the loss with factor 1
};

/// What training, prediction and checkpoints need of a network. The tensors are the network's own:
/// writing into them changes it. Not thread-safe: one thread at a time.
class HEADRACE_API Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// One batch through the network, for a classifier `[N, C, H, W]` to logits `[N, classes]`.
  virtual at::Tensor forward(const at::Tensor& input) = 0;

  /// The same with all that it gives. Default: the forward pass alone, as `main`.
  virtual Output outputs(const at::Tensor& input);

  /// Trained tensors, in the order of their declaration.
  virtual NamedTensors parameters() const = 0;

  /// Tensors that belong to the state but are not trained, such as running statistics.
  virtual NamedTensors buffers() const = 0;

  /// Training mode (dropout on, batch statistics) or evaluation mode. In training mode too a part
  /// with parameters none of which requires a gradient stays in evaluation mode with all that is in
  /// it, and so does every norm after `freeze_norms`. Call it again when what requires a gradient
  /// has changed. A network without a trainable parameter is wholly in evaluation mode.
  virtual void set_training(bool on) = 0;

  /// What was asked for last, whatever is frozen.
  virtual bool is_training() const = 0;

  /// From now on modules with running statistics neither move them nor use the batch's, or they do
  /// again; their scale and shift are trained as before. Default: throws `ConfigError` if on.
  virtual void freeze_norms(bool on);

  /// Names of the blocks that `checkpoint` takes, in the order of the forward pass. Default: none.
  virtual std::vector<std::string> blocks() const;

  /// From the next forward pass on those blocks that fit one of the patterns (`fits_pattern`) keep
  /// their inputs alone and run again in the backward pass: less memory, more time, the same
  /// results (`checkpointed`). The others run plain; an empty list checkpoints none. Throws
  /// `ConfigError` for a pattern that fits no block; default: for any.
  virtual void checkpoint(const std::vector<std::string>& patterns);

  /// Moves parameters and buffers; their four-dimensional ones take the channels-last layout when
  /// asked. Make the optimiser afterwards.
  virtual void move_to(at::Device device, bool channels_last) = 0;
};

/// Parameters followed by buffers: what a weight file holds. Names are unique.
HEADRACE_API NamedTensors state_of(const Network& network);

/// Number of trained values.
HEADRACE_API std::int64_t parameter_count(const Network& network);

}  // namespace headrace::inline v1::models
