#include <headrace/apps/watch/findings.h>

#include <algorithm>

namespace headrace::inline v1::app {

void WatchFindings::add(const monitor::SystemSample& sample) {
  // The first interval's own time counts, too: it is what the rates of the sample are of.
  if (samples_ == 0) first_cpu_s_ = sample.tree.cpu_s - sample.tree.cores * sample.interval_s;
  ++samples_;
  last_cpu_s_ = std::max(last_cpu_s_, sample.tree.cpu_s);
  tree_peak_ = std::max(tree_peak_, sample.tree.resident);
  usage_.add(sample);
  spikes_.add(sample);
  processes_.add(sample);
  facts_.add(sample);
  put(sample, "machine", sample.machine_share);
  if (sample.tree.processes > 0)
    put(sample, "tree", sample.tree.cores / std::max(1U, sample.cores));
  put(sample, "memory", monitor::memory_share(sample));
  put(sample, "gpu_busy", monitor::gpu_busy_share(sample));
  put(sample, "gpu_memory", monitor::gpu_memory_share(sample));
  last_ = sample;
}

// A sample speaks for its interval, so a curve begins where that of its first one does.
void WatchFindings::put(const monitor::SystemSample& sample, const char* name,
                        std::optional<double> share) {
  constexpr std::size_t columns = 1000;
  constexpr double finest_s = 0.1;
  constexpr double least_gap_s = 60.0;  // samples that are nearer are joined
  if (!share) return;
  const auto [place, is_new] =
      curves_.try_emplace(name, columns, finest_s, std::max(least_gap_s, 3.0 * sample.interval_s));
  if (is_new) place->second.add(std::max(sample.at_s - sample.interval_s, 0.0), *share);
  place->second.add(sample.at_s, *share);
}

const ThinCurve* WatchFindings::curve(const std::string& name) const {
  const auto found = curves_.find(name);
  return found == curves_.end() ? nullptr : &found->second;
}

}  // namespace headrace::inline v1::app
