#include <headrace/training/memory/tensor_memory.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <malloc.h>

namespace headrace::inline v1::training {
namespace {

// Of tensors that are freed again; never destroyed, for tensors may outlive everything.
struct Counts {
  std::atomic<std::int64_t> allocated{0};
  std::atomic<std::int64_t> peak{0};
  std::atomic<std::int64_t> limit{0};  // 0: none
  std::function<bool(std::uint64_t)> refuses;
  std::atomic<bool> refusing{false};

  void raise_peak(std::int64_t now) {
    std::int64_t seen = peak.load(std::memory_order_relaxed);
    while (seen < now && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
};

Counts& counts() {
  static auto* counts = new Counts();
  return *counts;
}

std::int64_t bytes_of(void* memory) {
  return static_cast<std::int64_t>(::malloc_usable_size(memory));
}

void free_counted(void* memory) {
  if (memory == nullptr) return;
  counts().allocated.fetch_sub(bytes_of(memory), std::memory_order_relaxed);
  c10::free_cpu(memory);
}

void require_room(std::size_t bytes) {
  const std::int64_t limit = counts().limit.load(std::memory_order_relaxed);
  const std::int64_t held = counts().allocated.load(std::memory_order_relaxed);
  TORCH_CHECK_WITH(OutOfMemoryError, limit == 0 || held + static_cast<std::int64_t>(bytes) <= limit,
                   "[memory] tensors of the CPU must fit ", limit, " bytes, got ", held,
                   " bytes and ", bytes, " more");
  TORCH_CHECK_WITH(OutOfMemoryError,
                   !counts().refusing.load(std::memory_order_acquire) || !counts().refuses(bytes),
                   "[memory] a tensor of the CPU of ", bytes, " bytes was refused");
}

// LibTorch's own with counters.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &free_counted, at::Device(at::kCPU)};
    require_room(bytes);
    void* memory = take(bytes);
    const std::int64_t taken = bytes_of(memory);
    counts().raise_peak(counts().allocated.fetch_add(taken, std::memory_order_relaxed) + taken);
    return {memory, memory, &free_counted, at::Device(at::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  // Its error has no type of its own on the CPU.
  static void* take(std::size_t bytes) {
    try {
      return c10::alloc_cpu(bytes);
    } catch (const c10::Error& error) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, error.what_without_backtrace());
    }
    return nullptr;
  }
};

std::uint64_t unsigned_of(std::int64_t bytes) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
}

TensorMemory of_cpu() {
  const std::uint64_t held = unsigned_of(counts().allocated.load(std::memory_order_relaxed));
  const std::uint64_t peak = unsigned_of(counts().peak.load(std::memory_order_relaxed));
  return {.allocated = held, .peak = peak, .reserved = held, .peak_reserved = peak};
}

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
// Null where nothing was taken yet: asking would begin to use the device.
c10::DeviceAllocator* used_allocator(c10::Device device) {
  c10::Allocator* of_device = c10::GetAllocator(device.type());
  auto* allocator = dynamic_cast<c10::DeviceAllocator*>(of_device);
  return allocator != nullptr && allocator->initialized() ? allocator : nullptr;
}

TensorMemory of_device(c10::Device device) {
  auto* allocator = used_allocator(device);
  if (allocator == nullptr) return {};
  const auto stats = allocator->getDeviceStats(device.index() < 0 ? 0 : device.index());
  return {.allocated = unsigned_of(stats.allocated_bytes[0].current),
          .peak = unsigned_of(stats.allocated_bytes[0].peak),
          .reserved = unsigned_of(stats.reserved_bytes[0].current),
          .peak_reserved = unsigned_of(stats.reserved_bytes[0].peak),
          .inactive_split = unsigned_of(stats.inactive_split_bytes[0].current),
          .retries = stats.num_alloc_retries};
}

void reset_device(c10::Device device) {
  if (auto* allocator = used_allocator(device))
    allocator->resetPeakStats(device.index() < 0 ? 0 : device.index());
}

void release_device(c10::Device device) {
  if (auto* allocator = used_allocator(device)) allocator->emptyCache();
}
#else
// Before 2.9 a GPU's counters have no interface that does without CUDA's headers.
TensorMemory of_device(c10::Device) {
  return {};
}
void reset_device(c10::Device) {}
void release_device(c10::Device) {}
#endif

}  // namespace

void count_tensor_memory() {
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(new CountingAllocator()); });
}

TensorMemory tensor_memory(c10::Device device) {
  return device.is_cpu() ? of_cpu() : of_device(device);
}

void reset_peak_tensor_memory(c10::Device device) {
  if (!device.is_cpu()) return reset_device(device);
  counts().peak = counts().allocated.load();
}

void release_unused_memory(c10::Device device) {
  if (device.is_cpu())
    ::malloc_trim(0);
  else
    release_device(device);
}

void limit_cpu_tensors(std::uint64_t bytes) {
  counts().limit = static_cast<std::int64_t>(bytes);
}

void refuse_cpu_tensors(std::function<bool(std::uint64_t bytes)> refuses) {
  counts().refusing = false;
  counts().refuses = std::move(refuses);
  counts().refusing.store(static_cast<bool>(counts().refuses), std::memory_order_release);
}

}  // namespace headrace::inline v1::training
