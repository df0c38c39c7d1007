#include <headrace/apps/train/system_log.h>
#include <headrace/monitor/status_line.h>

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

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
  tally_.enter(moment, SystemTally::Clock::now());
}

void SystemLog::take(const monitor::SystemSample& sample) {
  write(sample);
  const std::lock_guard lock(mutex_);
  tally_.add(sample, SystemTally::Clock::now());
}

void SystemLog::write(const monitor::SystemSample& sample) {
  if (broken_) return;
  monitor::RunMoment moment;
  {
    const std::lock_guard lock(mutex_);
    moment = tally_.moment();
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
  return tally_.window();
}

SystemTotals SystemLog::totals() const {
  const std::lock_guard lock(mutex_);
  return tally_.totals();
}

std::string SystemLog::status(std::size_t columns) const {
  const std::optional<monitor::SystemSample> last = watch_ ? watch_->last() : std::nullopt;
  return last ? monitor::status_line(*last, columns) : std::string();
}

}  // namespace headrace::inline v1::app
