#include <headrace/training/metrics/metric.h>

namespace headrace::inline v1::training {

std::int64_t case_count(const Cases& cases) {
  if (cases.scores.defined()) return cases.scores.size(0);
  for (const TensorMap* map : {&cases.example.targets, &cases.example.inputs})
    if (!map->empty()) return map->begin()->second.size(0);
  return counted_rows(cases.example);
}

ClassificationMetric::ClassificationMetric(std::int64_t classes) : confusion_(classes) {}

void ClassificationMetric::add(const Cases& cases) {
  const at::Tensor target = hard_labels(only(cases.example.targets, "target"));
  const at::Tensor& values = cases.scores.defined() ? cases.scores : cases.output.main;
  confusion_.add(values, target, cases.example.present);
}

Figures ClassificationMetric::result() {
  const models::ConfusionMatrix matrix = confusion_.matrix();
  return {{"accuracy", models::accuracy(matrix)},
          {"balanced_accuracy", models::balanced_accuracy(matrix)},
          {"macro_f1", models::macro_f1(matrix)}};
}

TensorMap ClassificationMetric::state() const {
  if (!confusion_.state().defined()) return {};
  return {{"confusion", confusion_.state().cpu()}};
}

void ClassificationMetric::restore(const TensorMap& state) {
  const auto found = state.find("confusion");
  if (found != state.end()) confusion_.restore(found->second);
}

}  // namespace headrace::inline v1::training
