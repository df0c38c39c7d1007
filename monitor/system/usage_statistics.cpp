#include <headrace/monitor/system/detail/memory_in_use.h>
#include <headrace/monitor/system/usage_statistics.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::monitor {
using detail::memory_in_use;
using detail::MemoryInUse;

std::optional<double> memory_share(const SystemSample& sample) {
  const MemoryInUse memory = memory_in_use(sample.host);
  if (memory.total == 0) return std::nullopt;
  return static_cast<double>(memory.used) / static_cast<double>(memory.total);
}

std::optional<double> gpu_busy_share(const SystemSample& sample) {
  double sum = 0.0;
  int told = 0;
  for (const GpuSample& gpu : sample.gpus) {
    sum += gpu.busy_share.value_or(0.0);
    told += gpu.busy_share ? 1 : 0;
  }
  return told > 0 ? std::optional(sum / told) : std::nullopt;
}

std::optional<double> gpu_memory_share(const SystemSample& sample) {
  const MemoryInUse memory = detail::gpu_memory_in_use(sample);
  if (memory.total == 0) return std::nullopt;
  return static_cast<double>(memory.used) / static_cast<double>(memory.total);
}

void ShareMeter::add(double share) {
  if (!std::isfinite(share)) return;
  const double value = std::clamp(share, 0.0, 1.0);
  ++counts_[static_cast<std::size_t>(std::lround(value * 1000.0))];
  ++samples_;
  sum_ += value;
  most_ = std::max(most_, value);
}

double ShareMeter::quantile(double share) const {
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples_)));
  std::size_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= std::max<std::size_t>(wanted, 1))
      return std::min(static_cast<double>(i) / 1000.0, most_);
  }
  return most_;
}

std::optional<ShareSpread> ShareMeter::spread() const {
  if (samples_ == 0) return std::nullopt;
  return ShareSpread{.samples = samples_,
                     .mean = sum_ / static_cast<double>(samples_),
                     .p50 = quantile(0.5),
                     .p90 = quantile(0.9),
                     .p99 = quantile(0.99),
                     .most = most_};
}

void UsageMeter::add(const SystemSample& sample) {
  seconds_ += sample.interval_s;
  cpu_.add(sample.machine_share);
  if (sample.tree.processes > 0) process_.add(share_of_cores(sample));
  if (const auto share = memory_share(sample)) {
    memory_.add(*share);
    memory_total_ = memory_in_use(sample.host).total;
  }
  if (sample.pressure) io_pressure_.add(sample.pressure->io_some);
  if (const auto busy = gpu_busy_share(sample)) gpu_busy_.add(*busy);
  if (const auto share = gpu_memory_share(sample)) {
    gpu_memory_.add(*share);
    gpu_memory_total_ = detail::gpu_memory_in_use(sample).total;
  }
}

UsageStatistics UsageMeter::statistics() const {
  return {.seconds = seconds_,
          .cpu = cpu_.spread(),
          .process = process_.spread(),
          .memory = memory_.spread(),
          .gpu_busy = gpu_busy_.spread(),
          .gpu_memory = gpu_memory_.spread(),
          .io_pressure = io_pressure_.spread(),
          .memory_total = memory_total_,
          .gpu_memory_total = gpu_memory_total_};
}

}  // namespace headrace::inline v1::monitor
