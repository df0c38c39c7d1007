#pragma once

#include <headrace/engine/device/internal/kernel.h>
#include <headrace/tests/support/device_bytes.h>
#include <headrace/tests/support/skip.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace headrace::test {

// The cases of this folder are compiled twice: for a GPU, where they belong to the test suite `gpu`
// (--test-suite=gpu), and for the host in its place, where they run everywhere.

/// Runs `work` in each order of threads that can be asked for; a GPU has its own.
void in_each_order(const std::function<void()>& work);

/// Launches, and waits. With `blocks` a host in place of a GPU runs only so many of the last blocks
/// of a launch, which must be one.
void run_kernel(const detail::Kernel& kernel, const void* task, std::uint64_t blocks = 0);

/// Launches so far; negative where nobody counts them.
std::int64_t kernel_launches();

/// Memory of the device that may be larger than the machine's: a host in place of a GPU gives pages
/// when they are written. Null bytes at first; null where there is not so much.
class VastBytes {
 public:
  explicit VastBytes(std::size_t bytes);
  ~VastBytes();
  VastBytes(const VastBytes&) = delete;
  VastBytes& operator=(const VastBytes&) = delete;

  std::byte* data() const { return memory_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
};

}  // namespace headrace::test
