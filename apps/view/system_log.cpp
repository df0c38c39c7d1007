#include <headrace/apps/view/system_log.h>
#include <headrace/monitor/system/status_line.h>

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* training_phase = "train";
constexpr double highest_level = monitor::CpuSpikes::levels.back();
constexpr double longest_interval = 1.5;  // of the time since the phase began

monitor::SystemSample with_means(monitor::SystemSample sample,
                                 const monitor::UsageStatistics& usage) {
  if (usage.cpu) sample.machine_share = usage.cpu->mean;
  for (monitor::GpuSample& gpu : sample.gpus)
    if (usage.gpu_busy) gpu.busy_share = usage.gpu_busy->mean;
  return sample;
}

}  // namespace

void SystemTally::enter(const monitor::RunMoment& moment, Clock::time_point at) {
  if (moment.phase != moment_.phase) entered_ = at;
  if (moment.phase == training_phase && moment_.phase != training_phase) {
    facts_.clear();
    usage_ = {};
    last_ = {};
  }
  moment_ = moment;
}

void SystemTally::add(const monitor::SystemSample& sample, Clock::time_point at) {
  ++samples_;
  spikes_.add(sample);
  const std::chrono::duration<double> in_phase = at - entered_;
  if (moment_.phase != training_phase || sample.interval_s > longest_interval * in_phase.count())
    return;
  facts_.add(sample);
  usage_.add(sample);
  last_ = sample;
  trained_.add(sample);
}

SystemWindow SystemTally::window() const {
  SystemWindow window{
      .machine = facts_.machine(), .gpu = facts_.gpu(), .usage = usage_.statistics()};
  if (window.machine) window.mean = with_means(last_, window.usage);
  return window;
}

SystemTotals SystemTally::totals() const {
  SystemTotals totals;
  if (samples_ >= 2) totals.cpu_spikes = static_cast<std::int64_t>(spikes_.count(highest_level));
  const std::optional<monitor::GpuFacts> gpu = trained_.gpu();
  if (gpu && gpu->busy_share >= 0) totals.gpu_busy = gpu->busy_share;
  return totals;
}

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
