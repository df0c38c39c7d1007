#include <headrace/training/detail/step_reports.h>

#include <utility>
#include <vector>

namespace headrace::inline v1::training::detail {

void StepReports::add(const StepReport& report, std::int64_t position, const Figures& figures) {
  const bool reads = figures.loss.defined();
  if (reads) {
    std::vector<at::Tensor> values{figures.loss};
    if (figures.norm.defined()) values.push_back(figures.norm);
    scalars_.push(values);
  }
  waiting_.push_back({report, position, reads});
}

void StepReports::add(const StepReport& report, std::int64_t position) {
  waiting_.push_back({report, position, true});
}

bool StepReports::tell_first(bool wait) {
  Waiting& first = waiting_.front();
  if (first.reads) {
    const auto values = scalars_.pop(wait);
    if (!values) return false;
    first.report.loss = values->front();
    if (values->size() > 1) first.report.gradient_norm = values->back();
  }
  const Waiting told = std::move(first);
  waiting_.pop_front();
  tell_(told.report);
  return true;
}

void StepReports::tell_arrived(std::size_t keep) {
  while (waiting_.size() > keep && tell_first(false)) {
  }
}

void StepReports::tell_all() {
  while (!waiting_.empty())
    tell_first(true);
}

void StepReports::clear() {
  waiting_.clear();
  scalars_ = {};
}

}  // namespace headrace::inline v1::training::detail
