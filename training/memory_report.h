#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/state_bytes.h>

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

/// Those of a state that hold anything: weights, gradients, moments, averaged weights.
HEADRACE_API MemoryOwners owners_of(const StateBytes& state);

/// A sentence about memory that ran out: who needed it ("step 12"), what was asked for in the words
/// of the error (those of a GPU say what is free), what is free on the host, reserved but unused,
/// and who holds most. What the peak has beside `owners` is activations and all else. Waits for
/// nothing.
HEADRACE_API std::string report_of_lack(const std::string& who, const std::string& lack,
                                        c10::Device device, MemoryOwners owners);

}  // namespace headrace::inline v1::training
