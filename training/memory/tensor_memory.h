#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <functional>

#include <c10/core/Device.h>

namespace headrace::inline v1::training {

/// What the tensors of a device take, by the counters of LibTorch's allocator. Bytes.
struct TensorMemory {
  std::uint64_t allocated = 0;       ///< in tensors
  std::uint64_t peak = 0;            ///< the most of `allocated` since the peaks were reset
  std::uint64_t reserved = 0;        ///< that the allocator holds; of the CPU: `allocated`
  std::uint64_t peak_reserved = 0;   ///< likewise the most of it
  std::uint64_t inactive_split = 0;  ///< free parts of pieces of which other parts are in use
  std::int64_t retries = 0;          ///< times that it gave back what it held, to try once more
};

/// From now on tensors of the CPU are counted, those that are there already left out: LibTorch's
/// allocator for the CPU is replaced by one that takes the same memory and adds up. For programs,
/// once, before the first tensor; what comes after the first call does nothing. Thread-safe.
HEADRACE_API void count_tensor_memory();

/// All zero for a CPU whose tensors are not counted, and for a GPU before its first tensor.
/// Thread-safe; waits for nothing.
HEADRACE_API TensorMemory tensor_memory(c10::Device device);

/// The peaks begin anew from what is held now. Thread-safe.
HEADRACE_API void reset_peak_tensor_memory(c10::Device device);

/// Gives back to the system what is held and not in use. Of a GPU it waits for the device: never in
/// a step.
HEADRACE_API void release_unused_memory(c10::Device device);

/// Tensors of the CPU that would take more than `bytes` together throw c10::OutOfMemoryError, as
/// those of a GPU do; 0: no limit. Needs count_tensor_memory(). Thread-safe.
HEADRACE_API void limit_cpu_tensors(std::uint64_t bytes);

/// Asked for each tensor of the CPU from now on, by the thread that makes it; one that it refuses
/// throws c10::OutOfMemoryError. Empty: none is refused. To see what a program does without memory;
/// not while another thread makes tensors. Needs count_tensor_memory().
HEADRACE_API void refuse_cpu_tensors(std::function<bool(std::uint64_t bytes)> refuses);

}  // namespace headrace::inline v1::training
