#include <headrace/apps/report/cpu_spikes.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_processes = 5;
constexpr std::size_t most_names = 50;  // of a spike that is still open

// Which of two stays where there is no room for both.
double weight(const CpuSpike& spike) {
  return spike.peak * (1.0 + std::log1p(std::max(0.0, spike.to - spike.from)));
}

}  // namespace

void CpuSpikes::add(double at, double interval_s, double share,
                    const std::vector<SpikeProcess>& busiest) {
  if (!std::isfinite(at) || !std::isfinite(share)) return;
  const double lasted = std::isfinite(interval_s) ? std::max(0.0, interval_s) : 0.0;
  seconds_ += lasted;
  sum_ += share * lasted;
  peak_ = std::max(peak_, share);
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (share > levels[i]) above_[i] += lasted;
  if (!(share > levels.front())) return close();
  begin_or_go_on(at - lasted, at, share);
  for (const SpikeProcess& process : busiest) {
    if (now_.processes.size() >= most_names && !now_.processes.contains(process.name)) continue;
    SpikeProcess& known = now_.processes[process.name];
    if (process.cores >= known.cores) known = process;
  }
}

// A gap in the samples, a run that was stopped say, ends a spike.
void CpuSpikes::begin_or_go_on(double from, double at, double share) {
  constexpr double longest_gap_s = 30.0;
  if (open_ && (from - now_.spike.to > longest_gap_s || at < now_.spike.from)) close();
  if (!open_) now_ = {.spike = {.from = from, .to = at, .peak = share}};
  open_ = true;
  now_.spike.to = std::max(now_.spike.to, at);
  now_.spike.peak = std::max(now_.spike.peak, share);
}

void CpuSpikes::close() {
  if (!open_) return;
  open_ = false;
  ++count_;
  for (auto& [name, process] : now_.processes)
    now_.spike.processes.push_back(process);
  auto& processes = now_.spike.processes;
  std::stable_sort(processes.begin(), processes.end(),
                   [](const auto& a, const auto& b) { return a.cores > b.cores; });
  processes.resize(std::min(processes.size(), most_processes));
  if (kept_.size() < most_kept) {
    kept_.push_back(std::move(now_.spike));
    return;
  }
  const auto least = std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
    return weight(a) < weight(b);
  });
  if (weight(*least) < weight(now_.spike)) *least = std::move(now_.spike);
}

void CpuSpikes::end() {
  close();
}

std::vector<CpuSpike> CpuSpikes::spikes() const {
  std::vector<CpuSpike> spikes = kept_;
  std::sort(spikes.begin(), spikes.end(),
            [](const CpuSpike& a, const CpuSpike& b) { return a.from < b.from; });
  return spikes;
}

}  // namespace headrace::inline v1::app
