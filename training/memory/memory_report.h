#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/optimizer/optimizer.h>
#include <headrace/training/optimizer/weight_average.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/Device.h>

namespace headrace::inline v1::training {

/// What a stage holds whatever its batch, by count. Bytes.
struct StateBytes {
  std::uint64_t weights = 0;     ///< parameters and buffers
  std::uint64_t gradients = 0;   ///< of what is trained
  std::uint64_t moments = 0;     ///< of the optimiser
  std::uint64_t average = 0;     ///< averaged weights
  std::uint64_t checkpoint = 0;  ///< the copy that a save is made of, in host memory

  /// Of the compute device; `checkpoint` beside it on the CPU.
  std::uint64_t on_device() const { return weights + gradients + moments + average; }
};

/// `average` may be null. Waits for nothing.
HEADRACE_API StateBytes state_bytes(const models::Network& network, const Optimizer& optimizer,
                                    const WeightAverage* average);

/// Bytes of a network's parameters and buffers.
HEADRACE_API std::uint64_t weight_bytes(const models::Network& network);

/// Who holds memory, and how much.
struct MemoryOwner {
  std::string_view name = {};  ///< of a literal
  std::uint64_t bytes = 0;
};
using MemoryOwners = std::vector<MemoryOwner>;

/// Those of a state that hold anything: weights, gradients, moments, averaged weights.
HEADRACE_API MemoryOwners owners_of(const StateBytes& state);

/// A sentence about memory that ran out: who needed it ("step 12"), what was asked for in the words
/// of the error (those of a GPU say what is free), what is free on the host, reserved but unused,
/// and who holds most. What the peak has beside `owners` is activations and all else. Waits for
/// nothing.
HEADRACE_API std::string report_of_lack(const std::string& who, const std::string& lack,
                                        c10::Device device, MemoryOwners owners);

}  // namespace headrace::inline v1::training
