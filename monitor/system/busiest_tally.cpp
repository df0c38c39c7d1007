#include <headrace/monitor/system/busiest_tally.h>

#include <algorithm>
#include <functional>

namespace headrace::inline v1::monitor {
namespace {

constexpr std::size_t most_tallied_processes = 200;

}  // namespace

void BusiestTally::add(const SystemSample& sample) {
  if (sample.busiest.empty()) return;
  const double seconds = sample.at_s - last_look_s_.value_or(0.0);
  last_look_s_ = sample.at_s;
  if (!(seconds > 0.0)) return;
  seconds_ += seconds;
  for (const ProcessUsage& process : sample.busiest) {
    Process& known = processes_[process.pid];
    known.last = process;
    known.cpu_s += process.cores * seconds;
  }
  while (processes_.size() > most_tallied_processes)
    processes_.erase(std::ranges::min_element(
        processes_, {}, [](const auto& entry) { return entry.second.cpu_s; }));
}

std::vector<ProcessUsage> BusiestTally::top(std::size_t count, bool with_ours) const {
  std::vector<ProcessUsage> result;
  for (const auto& [pid, process] : processes_) {
    if (process.last.ours && !with_ours) continue;
    result.push_back(process.last);
    result.back().cores = process.cpu_s / seconds_;
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &ProcessUsage::cores);
  if (result.size() > count) result.resize(count);
  return result;
}

void BusiestTally::clear() {
  processes_.clear();
  seconds_ = 0.0;
}

}  // namespace headrace::inline v1::monitor
