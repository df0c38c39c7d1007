#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace headrace::test {

/// Memory of tensors on the CPU, of any thread.
struct LiveTensors {
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  bool operator==(const LiveTensors&) const = default;
};

/// Counts what LibTorch's CPU allocator hands out and gets back from when it is first asked to the
/// end of the program: tensors may outlive a test.
class CountingAllocator final : public c10::Allocator {
 public:
  static CountingAllocator& get() {
    static auto& allocator = *new CountingAllocator;
    return allocator;
  }

  c10::DataPtr allocate(std::size_t size) override {
    void* data = inner_->raw_allocate(size);
    if (data != nullptr) {
      const std::lock_guard lock(mutex_);
      sizes_.emplace(data, size);
      bytes_ += static_cast<std::int64_t>(size);
    }
    return {data, data, &give_back, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    inner_->copy_data(to, from, size);
  }

  LiveTensors now() {
    const std::lock_guard lock(mutex_);
    return {.count = static_cast<std::int64_t>(sizes_.size()), .bytes = bytes_};
  }

 private:
  CountingAllocator() { c10::SetCPUAllocator(this); }

  static void give_back(void* data) {
    if (data == nullptr) return;
    CountingAllocator& self = get();
    {
      const std::lock_guard lock(self.mutex_);
      const auto found = self.sizes_.find(data);
      self.bytes_ -= static_cast<std::int64_t>(found->second);
      self.sizes_.erase(found);
    }
    self.inner_->raw_deallocate(data);
  }

  c10::Allocator* inner_ = c10::GetCPUAllocator();
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::int64_t bytes_ = 0;
};

/// Those that were made since the first call and are still there.
inline LiveTensors live_tensors() {
  return CountingAllocator::get().now();
}

}  // namespace headrace::test
