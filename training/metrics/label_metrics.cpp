#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/area_under_roc.h>
#include <headrace/models/metrics/top_k.h>
#include <headrace/training/metrics/detail/fitted_thresholds.h>
#include <headrace/training/metrics/label_metrics.h>

#include <limits>
#include <span>
#include <string>

#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

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
  }
  counts_ = counts;
  learns_ = learns;
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
  if (options_.classes > five) {
    const at::Tensor sums = top5_.defined() ? top5_.to(at::kCPU, at::kDouble) : at::zeros({2});
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
  if (options_.areas && !learns_)
    figures.emplace_back(
        "auc", keeps ? area_of(rows, options_.classes) : std::numeric_limits<double>::quiet_NaN());
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
  if (found == state.end()) return;
  counts_.restore(found->second);
  learns_ = true;
}

at::Tensor decided_classes(const at::Tensor& scores, const TensorMap& fitted) {
  const std::optional<double> threshold = threshold_of(fitted);
  if (!threshold) return at::argmax(scores, 1);
  return (scores.select(1, 1) >= *threshold).to(at::kLong);
}

namespace {

at::Tensor thresholds_of(const TensorMap& fitted) {
  const auto found = fitted.find(detail::thresholds_key);
  return found == fitted.end() ? at::Tensor() : found->second;
}

// Of columns, each a label.
at::Tensor best_thresholds(const at::Tensor& scores, const at::Tensor& labels,
                           models::ThresholdGoal goal) {
  std::vector<double> best;
  for (std::int64_t k = 0; k < scores.size(1); ++k) {
    const at::Tensor column = scores.select(1, k).contiguous();
    const at::Tensor truth = labels.select(1, k).contiguous();
    best.push_back(
        models::best_threshold(values_of<float>(column), values_of<std::uint8_t>(truth), goal));
  }
  return at::tensor(best, at::kDouble);
}

std::vector<models::ConfusionMatrix> matrices_of(const at::Tensor& decided,
                                                 const at::Tensor& labels) {
  const at::Tensor there = labels != 0;
  const auto counts = [&](const at::Tensor& truth, const at::Tensor& given) {
    return (truth & given).sum(0);
  };
  const at::Tensor cells = at::stack({counts(~there, ~decided), counts(~there, decided),
                                      counts(there, ~decided), counts(there, decided)},
                                     1)
                               .contiguous();  // [labels, 4]
  const std::span<const std::int64_t> values = values_of<std::int64_t>(cells);
  std::vector<models::ConfusionMatrix> matrices;
  for (std::size_t first = 0; first < values.size(); first += 4) {
    const auto of_label = values.subspan(first, 4);
    matrices.push_back({2, {of_label.begin(), of_label.end()}});
  }
  return matrices;
}

Figures f1_of(const std::vector<models::ConfusionMatrix>& matrices) {
  double sum = 0.0;
  int seen = 0;
  models::ConfusionMatrix all(2);
  for (const models::ConfusionMatrix& matrix : matrices) {
    all.add(matrix);
    if (matrix.support(1) + matrix.predicted(1) == 0) continue;
    sum += models::f1(matrix, 1);
    ++seen;
  }
  return {{"macro_f1", seen > 0 ? sum / seen : std::numeric_limits<double>::quiet_NaN()},
          {"micro_f1", models::f1(all, 1)}};
}

}  // namespace

MultiLabelMetric::MultiLabelMetric(const MultiLabelOptions& options, const TensorMap& fitted)
    : options_(options), given_(thresholds_of(fitted)), learnt_(options.labels, 2) {
  if (given_.defined() && given_.numel() != options.labels)
    throw ConfigError("[MultiLabelMetric] " + std::to_string(options.labels) +
                      " labels need a threshold each, got " + std::to_string(given_.numel()));
}

void MultiLabelMetric::add(const Cases& cases) {
  const at::Tensor& target = only(cases.example.targets, "target");
  const at::Tensor& present = cases.example.present;
  if (cases.scores.defined())
    kept_.add(cases.scores, target, present);
  else
    learnt_.add(at::sigmoid(cases.output.main.to(at::kFloat)), target,
                present.defined() ? present.unsqueeze(1) : present);
}

Figures MultiLabelMetric::result() {
  if (!kept_.empty()) return figures_of_rows();
  confusions_.clear();
  for (std::int64_t k = 0; k < options_.labels; ++k)
    confusions_.push_back(learnt_.matrix(k, detail::usual_threshold));
  Figures figures = f1_of(confusions_);
  if (learnt_.state().defined()) return figures;
  figures.emplace_back("exact_match", std::numeric_limits<double>::quiet_NaN());
  if (options_.areas) figures.emplace_back("auc", std::numeric_limits<double>::quiet_NaN());
  return figures;
}

Figures MultiLabelMetric::figures_of_rows() {
  const KeptRows::OnHost rows = kept_.on_host();
  const at::Tensor labels = (rows.targets >= detail::usual_threshold).to(at::kByte);
  if (options_.fit_thresholds)
    thresholds_ = given_.defined() ? given_ : best_thresholds(rows.scores, labels, options_.goal);
  const at::Tensor decided = decided_labels(rows.scores, fitted());
  confusions_ = matrices_of(decided, labels);
  Figures figures = f1_of(confusions_);
  const at::Tensor exact = (decided == (labels != 0)).all(1).to(at::kDouble).mean();
  figures.emplace_back("exact_match", exact.item<double>());
  if (options_.areas)
    figures.emplace_back(
        "auc", models::macro_area_under_roc(values_of<float>(rows.scores),
                                            values_of<std::uint8_t>(labels), options_.labels));
  return figures;
}

TensorMap MultiLabelMetric::fitted() const {
  if (!thresholds_.defined()) return {};
  return {{detail::thresholds_key, thresholds_}};
}

TensorMap MultiLabelMetric::state() const {
  if (!learnt_.state().defined()) return {};
  return {{"decisions", learnt_.state().cpu()}};
}

void MultiLabelMetric::restore(const TensorMap& state) {
  const auto found = state.find("decisions");
  if (found != state.end()) learnt_.restore(found->second);
}

at::Tensor decided_labels(const at::Tensor& scores, const TensorMap& fitted) {
  const at::Tensor thresholds = thresholds_of(fitted);
  if (!thresholds.defined()) return scores >= detail::usual_threshold;
  return scores >= thresholds.to(scores.options());
}

}  // namespace headrace::inline v1::training
