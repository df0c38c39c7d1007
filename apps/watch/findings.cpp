#include <headrace/apps/watch/findings.h>

#include <algorithm>

namespace headrace::inline v1::app {

void Findings::add(const monitor::SystemSample& sample) {
  // The first interval's own time counts, too: it is what the rates of the sample are of.
  if (samples_ == 0) first_cpu_s_ = sample.tree.cpu_s - sample.tree.cores * sample.interval_s;
  ++samples_;
  last_cpu_s_ = std::max(last_cpu_s_, sample.tree.cpu_s);
  tree_peak_ = std::max(tree_peak_, sample.tree.resident);
  usage_.add(sample);
  spikes_.add(sample);
  processes_.add(sample);
  facts_.add(sample);
  history_.add(sample);
  last_ = sample;
}

}  // namespace headrace::inline v1::app
