#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace headrace::test {

/// Bytes on the host that LibTorch has handed out in this thread and not got back.
class HostBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t change, std::size_t, std::size_t,
                         c10::Device) override {
    now_ += change;
    most_ = std::max(most_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t now() const { return now_; }
  std::int64_t most() const { return most_; }

 private:
  std::int64_t now_ = 0;
  std::int64_t most_ = 0;
};

/// The most bytes that LibTorch's tensors on the CPU hold at once in `work`, beside those that are
/// there before.
template <class F>
double peak_of(const F& work) {
  const auto bytes = std::make_shared<HostBytes>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
  work();
  return static_cast<double>(bytes->most());
}

}  // namespace headrace::test
