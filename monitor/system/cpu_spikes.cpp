#include <headrace/monitor/system/cpu_spikes.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace headrace::inline v1::monitor {
namespace {

constexpr double ends_below = 0.65;
constexpr std::size_t most_spike_processes = 5;

double level_of(double share) {
  double level = 0.0;
  for (const double one : CpuSpikes::levels)
    if (share >= one) level = one;
  return level;
}

void add_busiest(std::vector<ProcessUsage>& all, const std::vector<ProcessUsage>& seen) {
  for (const ProcessUsage& process : seen) {
    const auto same = std::ranges::find(all, process.pid, &ProcessUsage::pid);
    if (same == all.end()) {
      all.push_back(process);
    } else if (process.cores > same->cores) {
      *same = process;
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &ProcessUsage::cores);
  if (all.size() > most_spike_processes) all.resize(most_spike_processes);
}

double cpu_time(const CpuSpike& spike) {
  return spike.mean * spike.length_s;
}

}  // namespace

void CpuSpikes::begin(const SystemSample& sample) {
  current_.emplace();
  CpuSpike& spike = current_->spike;
  spike.start_s = sample.at_s - sample.interval_s;
  spike.unix_ms = sample.unix_ms - static_cast<std::int64_t>(sample.interval_s * 1000.0);
  extend(sample);
}

void CpuSpikes::extend(const SystemSample& sample) {
  detail::OpenSpike& current = *current_;
  CpuSpike& spike = current.spike;
  const double share = sample.machine_share;
  spike.length_s += sample.interval_s;
  current.sum += share * sample.interval_s;
  spike.mean = spike.length_s > 0.0 ? current.sum / spike.length_s : share;
  spike.peak = std::max(spike.peak, share);
  if (current.samples > 0)
    spike.level = std::max(spike.level, level_of(std::min(share, current.last_share)));
  current.last_share = share;
  ++current.samples;
  if (spike.level > 0.0) current.begun = true;
  add_busiest(spike.busiest, sample.busiest);
}

void CpuSpikes::end() {
  CpuSpike spike = std::move(current_->spike);
  const bool begun = current_->begun;
  current_.reset();
  if (!begun) return;
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (spike.level >= levels[i]) ++counts_[i];
  ended_.push_back(std::move(spike));
  if (ended_.size() > most_kept) ended_.erase(std::ranges::min_element(ended_, {}, cpu_time));
}

// A calm sample within a spike is part of it only if the next one is busy again.
void CpuSpikes::add(const SystemSample& sample) {
  if (!current_) {
    if (sample.machine_share >= levels.front()) begin(sample);
    return;
  }
  if (!current_->begun && sample.machine_share < levels.front()) {
    end();
    return;
  }
  if (sample.machine_share >= ends_below) {
    if (current_->calm) extend(*std::exchange(current_->calm, std::nullopt));
    extend(sample);
  } else if (current_->calm) {
    end();
  } else {
    current_->calm = sample;
  }
}

std::vector<CpuSpike> CpuSpikes::spikes() const {
  std::vector<CpuSpike> all = ended_;
  if (lasts()) all.push_back(current_->spike);
  return all;
}

std::size_t CpuSpikes::count(double level) const {
  std::size_t count = lasts() && current_->spike.level >= level ? 1 : 0;
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i] == level) count += counts_[i];
  return count;
}

}  // namespace headrace::inline v1::monitor
