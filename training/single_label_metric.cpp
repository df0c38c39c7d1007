#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/area_under_roc.h>
#include <headrace/models/metrics/top_k.h>
#include <headrace/training/single_label_metric.h>

#include <span>
#include <string>

#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>

namespace headrace::inline v1::training {

namespace {

constexpr const char* threshold_key = "threshold";
constexpr std::int64_t five = 5;

std::optional<double> threshold_of(const TensorMap& fitted) {
  const auto found = fitted.find(threshold_key);
  if (found == fitted.end()) return std::nullopt;
  return found->second.item<double>();
}

double area_of(const KeptRows::OnHost& rows, std::int64_t classes) {
  if (classes == 2) {
    const at::Tensor scores = rows.scores.select(1, 1).to(at::kDouble).contiguous();
    const at::Tensor labels = rows.targets.to(at::kByte);
    return models::area_under_roc(values_of<double>(scores), values_of<std::uint8_t>(labels));
  }
  const at::Tensor each = at::arange(classes, rows.targets.options());
  const at::Tensor labels = (rows.targets.unsqueeze(1) == each).to(at::kByte).contiguous();
  return models::macro_area_under_roc(values_of<float>(rows.scores),
                                      values_of<std::uint8_t>(labels), classes);
}

}  // namespace

SingleLabelMetric::SingleLabelMetric(const SingleLabelOptions& options, const TensorMap& fitted)
    : options_(options), given_(threshold_of(fitted)), counts_(options.classes) {
  if (options.fit_threshold && options.classes != 2)
    throw ConfigError("[SingleLabelMetric] a threshold tells two classes apart, got " +
                      std::to_string(options.classes) + "; leave fit_threshold out");
}

void SingleLabelMetric::add(const Cases& cases) {
  const at::Tensor target = hard_labels(only(cases.example.targets, "target"));
  const at::Tensor& present = cases.example.present;
  const bool learns = !cases.scores.defined();
  // Copies are changed and take over together: where memory runs out between them none has counted.
  models::ConfusionAccumulator counts = counts_;
  counts.add(learns ? cases.output.main : cases.scores, target, present);
  if (!learns) {
    const at::Tensor scores = cases.scores.narrow(1, 0, options_.classes);
    const at::Tensor top5 = options_.classes > five ? top5_with(scores, target, present) : top5_;
    if (options_.areas || options_.fit_threshold) kept_.add(scores, target, present);
    top5_ = top5;
    learns_ = false;
  }
  counts_ = counts;
}

at::Tensor SingleLabelMetric::top5_with(const at::Tensor& scores, const at::Tensor& target,
                                        const at::Tensor& present) const {
  const at::Tensor right = models::is_in_top_k(scores, target, five);
  const at::Tensor all = present.defined() ? present : at::ones_like(right);
  const at::Tensor sums = at::stack({(right & all).sum(), all.sum()});
  return top5_.defined() ? top5_ + sums : sums;
}

void SingleLabelMetric::decide(const KeptRows::OnHost& rows) {
  const at::Tensor scores = rows.scores.select(1, 1).contiguous();
  const at::Tensor labels = rows.targets.to(at::kByte);
  threshold_ = given_ ? *given_
                      : models::best_threshold(values_of<float>(scores),
                                               values_of<std::uint8_t>(labels), options_.goal);
  models::ConfusionAccumulator decisions(options_.classes);
  decisions.add_predicted(decided_classes(rows.scores, fitted()), rows.targets);
  decided_ = decisions.matrix();
}

std::optional<models::ConfusionMatrix> SingleLabelMetric::confusion() const {
  return decided_ ? *decided_ : counts_.matrix();
}

Figures SingleLabelMetric::figures_of_counts() const {
  const models::ConfusionMatrix matrix = *confusion();
  Figures figures{{"accuracy", models::accuracy(matrix)}};
  if (learns_) return figures;
  if (top5_.defined()) {
    const at::Tensor sums = top5_.to(at::kCPU, at::kDouble);
    figures.emplace_back("top5", (sums[0] / sums[1]).item<double>());
  }
  figures.emplace_back("balanced_accuracy", models::balanced_accuracy(matrix));
  figures.emplace_back("macro_f1", models::macro_f1(matrix));
  figures.emplace_back("weighted_f1", models::weighted_f1(matrix));
  if (options_.ordinal) figures.emplace_back("qwk", models::quadratic_weighted_kappa(matrix));
  return figures;
}

Figures SingleLabelMetric::result() {
  static_cast<void>(counts_.matrix());  // throws for targets that are no class
  const bool keeps = !kept_.empty();
  const KeptRows::OnHost rows = keeps ? kept_.on_host() : KeptRows::OnHost{};
  if (keeps && options_.fit_threshold) decide(rows);
  Figures figures = figures_of_counts();
  if (keeps && options_.areas) figures.emplace_back("auc", area_of(rows, options_.classes));
  if (threshold_) figures.emplace_back(threshold_key, *threshold_);
  return figures;
}

TensorMap SingleLabelMetric::fitted() const {
  if (!threshold_) return {};
  return {{threshold_key, at::scalar_tensor(*threshold_, at::kDouble)}};
}

TensorMap SingleLabelMetric::state() const {
  if (!counts_.state().defined()) return {};
  return {{"confusion", counts_.state().cpu()}};
}

void SingleLabelMetric::restore(const TensorMap& state) {
  const auto found = state.find("confusion");
  if (found != state.end()) counts_.restore(found->second);
}

at::Tensor decided_classes(const at::Tensor& scores, const TensorMap& fitted) {
  const std::optional<double> threshold = threshold_of(fitted);
  if (!threshold) return at::argmax(scores, 1);
  return (scores.select(1, 1) >= *threshold).to(at::kLong);
}

}  // namespace headrace::inline v1::training
