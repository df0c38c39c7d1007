#include <headrace/apps/train/system_log.h>
#include <headrace/monitor/status_line.h>

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* training = "train";
constexpr double highest_level = monitor::CpuSpikes::levels.back();

monitor::SystemSample with_means(monitor::SystemSample sample,
                                 const monitor::UsageStatistics& usage) {
  if (usage.cpu) sample.machine_share = usage.cpu->mean;
  for (monitor::GpuSample& gpu : sample.gpus)
    if (usage.gpu_busy) gpu.busy_share = usage.gpu_busy->mean;
  return sample;
}

}  // namespace

MetricRow system_row(const SystemWindow& window) {
  MetricRow row;
  const auto add = [&row](const char* name, const std::optional<monitor::ShareSpread>& spread) {
    if (spread) row.emplace_back(name, spread->mean);
  };
  add("machine_cpu_share", window.usage.cpu);
  add("process_cpu_share", window.usage.process);
  add("gpu_busy_share", window.usage.gpu_busy);
  return row;
}

SystemLog::SystemLog(std::filesystem::path file, SystemLogOptions options,
                     std::function<void(const std::string&)> warn)
    : warn_(std::move(warn)), rows_(std::move(file)) {
  try {
    watch_.emplace(monitor::SystemWatchOptions{
        .sampler = {.allocator = std::move(options.allocator)},
        .period = options.period,
        .on_sample = [this](const monitor::SystemSample& sample) { take(sample); }});
  } catch (const std::exception& error) {
    warn_(fmt::format("[system] the machine is not watched, the run goes on: {}", error.what()));
  }
}

void SystemLog::enter(const monitor::RunMoment& moment) {
  const std::lock_guard lock(mutex_);
  if (moment.phase == training && moment_.phase != training) {
    facts_.clear();
    usage_ = {};
    last_ = {};
  }
  moment_ = moment;
}

void SystemLog::take(const monitor::SystemSample& sample) {
  write(sample);
  const std::lock_guard lock(mutex_);
  spikes_.add(sample);
  if (moment_.phase != training) return;
  facts_.add(sample);
  usage_.add(sample);
  last_ = sample;
  if (const std::optional<double> busy = monitor::gpu_busy_share(sample)) {
    busy_sum_ += *busy;
    ++busy_samples_;
  }
}

void SystemLog::write(const monitor::SystemSample& sample) {
  if (broken_) return;
  monitor::RunMoment moment;
  {
    const std::lock_guard lock(mutex_);
    moment = moment_;
  }
  try {
    rows_.write_json(monitor::system_line(sample, moment));
  } catch (const std::exception& error) {
    broken_ = true;
    warn_(fmt::format("[system] rows of the machine end here, the run goes on: {}", error.what()));
  }
}

SystemWindow SystemLog::window() const {
  const std::lock_guard lock(mutex_);
  SystemWindow window{
      .machine = facts_.machine(), .gpu = facts_.gpu(), .usage = usage_.statistics()};
  if (window.machine) window.mean = with_means(last_, window.usage);
  return window;
}

SystemTotals SystemLog::totals() const {
  const std::lock_guard lock(mutex_);
  SystemTotals totals{.cpu_spikes = spikes_.count(highest_level)};
  if (busy_samples_ > 0) totals.gpu_busy = busy_sum_ / static_cast<double>(busy_samples_);
  return totals;
}

std::string SystemLog::status(std::size_t columns) const {
  const std::optional<monitor::SystemSample> last = watch_ ? watch_->last() : std::nullopt;
  return last ? monitor::status_line(*last, columns) : std::string();
}

}  // namespace headrace::inline v1::app
