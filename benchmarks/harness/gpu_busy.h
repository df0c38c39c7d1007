#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

namespace headrace::inline v1::bench {

/// Share of time in which at least one kernel ran on a GPU, as NVML tells it: busy, not occupied.
/// The library is opened at run time, with declarations of our own; without it, or where it does
/// not answer, there is no figure, and why() says so.
class GpuBusy {
 public:
  /// `cuda_index`: as CUDA counts. Asks five times a second on a thread of its own until stop().
  explicit GpuBusy(int cuda_index);
  ~GpuBusy();
  GpuBusy(const GpuBusy&) = delete;
  GpuBusy& operator=(const GpuBusy&) = delete;

  /// Ends the sampling; the mean in [0, 1], or nothing.
  std::optional<double> stop();
  const std::string& why() const noexcept { return why_; }

 private:
  void* open(int cuda_index);
  void sample(void* device);

  void* library_ = nullptr;
  std::string why_;
  std::atomic<bool> stopping_{false};
  double sum_ = 0;
  int samples_ = 0;
  std::thread thread_;
};

/// Name of the first GPU that NVML shows, empty where there is none.
std::string gpu_name();

}  // namespace headrace::inline v1::bench
