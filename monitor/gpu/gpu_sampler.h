#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/system_sample.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

struct GpuSamplerOptions {
  std::string library = "libnvidia-ml.so.1";  ///< empty: none is opened
  std::filesystem::path root = "/";           ///< where proc is found
  /// Whose CUDA_VISIBLE_DEVICES says which GPUs are looked at; below 1, or where it says nothing
  /// that is understood: all.
  int pid = 0;
  /// Samples from one figure of PCIe to the next where asking takes 40 ms; 0: never.
  int pcie_every = 10;
};

/// What the driver says of the machine's GPUs, through NVML, which is opened at the first sample,
/// with declarations of our own. What a driver or a GPU does not tell is absent. Not thread-safe.
class HEADRACE_API GpuSampler {
 public:
  explicit GpuSampler(GpuSamplerOptions options = {});
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// `ours` says of a process whether it is watched. Some 50 us a GPU and figure, 100 ms at the
  /// first call.
  std::vector<GpuSample> sample(const std::function<bool(int)>& ours);

  /// A sentence, once a sample was taken; empty while there are GPUs.
  const std::string& why_none() const { return why_none_; }

 private:
  struct Driver;
  void open();

  GpuSamplerOptions options_;
  std::unique_ptr<Driver> driver_;
  bool opened_ = false;
  std::string why_none_{};
};

}  // namespace headrace::inline v1::monitor
