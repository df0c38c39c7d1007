#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/advice/run_facts.h>
#include <headrace/monitor/system/busiest_tally.h>
#include <headrace/monitor/system/system_sample.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// What the samples of a window come to, for the rules of advice, in memory that does not grow with
/// the window. Not thread-safe.
class HEADRACE_API SystemFacts {
 public:
  void add(const SystemSample& sample);
  /// Nothing without a sample.
  std::optional<MachineFacts> machine() const;
  /// Of the GPUs that list a process of ours; where the driver names none, of the busiest. Nothing
  /// without a GPU.
  std::optional<GpuFacts> gpu() const;
  /// Begins another window.
  void clear();

 private:
  struct Mean {
    double sum = 0.0;
    std::size_t count = 0;
    void add(double value) {
      sum += value;
      ++count;
    }
    double value(double none) const { return count > 0 ? sum / static_cast<double>(count) : none; }
  };
  struct Gpu {
    std::string name{};
    Mean busy{};
    Mean sm_active{};
    Mean sm_clock{};  // MHz
    Mean power{};     // W
    double most_sm_clock_mhz = -1.0;
    double power_limit_w = -1.0;
    std::size_t idle = 0;
    std::size_t samples = 0;
    std::uint64_t memory_total = 0;
    std::uint64_t memory_peak = 0;
    double temperature_c = -1.0;
    std::map<std::string, std::size_t> throttled{};  // samples a reason
    std::map<int, GpuProcess> others{};
    std::uint64_t others_memory = 0;  // bytes that they held at once, at most
    bool ours = false;
  };

  void add_gpu(const GpuSample& sample);
  std::vector<const Gpu*> chosen() const;
  static double mean_of(const std::vector<const Gpu*>& gpus, Mean Gpu::*figure);

  std::size_t samples_ = 0;
  unsigned cores_ = 0;
  unsigned outside_ = 0;
  Mean machine_;
  Mean process_;
  Mean io_pressure_;
  Mean memory_pressure_;
  Mean read_;
  Mean read_from_disk_;
  std::optional<std::uint64_t> room_;
  BusiestTally processes_;
  std::map<unsigned, Gpu> gpus_;
};

}  // namespace headrace::inline v1::monitor
