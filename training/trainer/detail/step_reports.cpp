#include <headrace/training/trainer/detail/step_reports.h>

#include <utility>
#include <vector>

namespace headrace::inline v1::training::detail {

void StepReports::add(const StepReport& report, const Figures& figures) {
  waiting_.push_back({report, figures.loss.defined()});
  if (!figures.loss.defined()) return;
  std::vector<at::Tensor> values{figures.loss};
  for (const auto& [name, value] : figures.terms) {
    waiting_.back().report.terms.emplace_back(name, 0.0);
    values.push_back(value);
  }
  if (figures.norm.defined()) values.push_back(figures.norm);
  scalars_.push(values);
}

void StepReports::add(const StepReport& report) {
  waiting_.push_back({report, true});
}

bool StepReports::tell_first(bool wait) {
  Waiting& first = waiting_.front();
  if (first.reads) {
    const auto values = scalars_.pop(wait);
    if (!values) return false;
    auto value = values->begin();
    first.report.loss = *value++;
    for (auto& [name, mean] : first.report.terms)
      mean = *value++;
    if (value != values->end()) first.report.gradient_norm = *value;
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
