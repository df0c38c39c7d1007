#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models::detail {

/// What decides, beside tensors, the values that operations give: LibTorch's default generators of
/// the CPU and of some GPUs, and the calling thread's autocast.
class RunState {
 public:
  /// The present one; the GPUs are those where `tensors` are. Waits for none of them.
  static RunState now(const std::vector<at::Tensor>& tensors);

  /// Makes it the present one.
  void apply() const;

  /// The present one of the same generators.
  RunState now() const;

  bool autocasts() const;

 private:
  struct GeneratorState {
    at::Generator generator;
    at::Tensor bytes = {};     // of the CPU
    std::uint64_t seed = 0;    // of a GPU
    std::uint64_t offset = 0;  // of a GPU
  };
  struct Autocast {
    at::DeviceType device;
    bool enabled;
    at::ScalarType type;
  };

  static GeneratorState state_of(at::Generator generator);

  std::vector<GeneratorState> generators_;
  std::array<Autocast, 2> autocast_{};
  bool autocast_cache_ = false;
};

/// Makes a state the present one for the scope it lives in.
class Replay {
 public:
  explicit Replay(const RunState& state);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay();

 private:
  RunState before_;
  bool autocasts_;
};

}  // namespace headrace::inline v1::models::detail
