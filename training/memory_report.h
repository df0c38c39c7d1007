#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/optimizer.h>
#include <headrace/training/weight_average.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/Device.h>

namespace headrace::inline v1::training {

/// Who holds memory, and how much.
struct MemoryOwner {
  std::string_view name = {};  ///< of a literal
  std::uint64_t bytes = 0;
};
using MemoryOwners = std::vector<MemoryOwner>;

/// Bytes of a network's parameters and buffers.
HEADRACE_API std::uint64_t weight_bytes(const models::Network& network);

/// What training keeps beside a network, in its evaluations too: moments and averaged weights.
/// `average` may be null.
HEADRACE_API MemoryOwners kept_by_training(const Optimizer& optimizer,
                                           const WeightAverage* average);

/// A sentence about memory that ran out: who needed it ("step 12"), what was asked for in the words
/// of the error (those of a GPU say what is free), what is free on the host, reserved but unused,
/// and who holds most. What the peak has beside `owners` is activations and all else. Waits for
/// nothing.
HEADRACE_API std::string report_of_lack(const std::string& who, const std::string& lack,
                                        c10::Device device, MemoryOwners owners);

}  // namespace headrace::inline v1::training
