#include <headrace/apps/train/system_tally.h>

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

}  // namespace headrace::inline v1::app
