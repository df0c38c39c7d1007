#include <headrace/apps/jobs/retinopathy/pair_metric_torch.h>
#include <headrace/models/metrics/temperature.h>
#include <headrace/training/metrics/kept_rows.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::app {

void PairMetric::add(const training::Cases& cases) {
  training::Cases pair = cases;
  const at::Tensor label = (cases.example.targets.at("label").select(1, 0) >= 0.5).to(at::kLong);
  pair.example.targets = {{"label", label}};
  if (!cases.scores.defined()) {
    const at::Tensor& second = cases.output.main;
    pair.output.main = at::cat({at::zeros_like(second), second}, 1);
    return figures_.add(pair);
  }
  // Where memory runs out neither has counted.
  training::KeptRows rows = rows_;
  if (fits_) rows.add(cases.scores, label, cases.example.present);
  figures_.add(pair);
  rows_ = rows;
}

training::Figures PairMetric::result() {
  training::Figures figures = figures_.result();
  if (!fits_ || rows_.empty()) return figures;
  const training::KeptRows::OnHost rows = rows_.on_host();
  const at::Tensor second = rows.scores.select(1, 1).contiguous();
  const at::Tensor labels = rows.targets.to(at::kByte).contiguous();
  fitted_ = {
      {fitted_accuracy, at::scalar_tensor(training::figure(figures, "accuracy"), at::kDouble)}};
  if (!second.isfinite().all().item<bool>()) {
    figures.emplace_back(fitted_temperature, std::numeric_limits<double>::quiet_NaN());
    return figures;
  }
  std::vector<double> logits;
  for (const float p : training::values_of<float>(second))
    logits.push_back(models::logit_of(static_cast<double>(p)));
  const double temperature =
      models::fit_temperature(logits, training::values_of<std::uint8_t>(labels));
  figures.emplace_back(fitted_temperature, temperature);
  fitted_.emplace(fitted_temperature, at::scalar_tensor(temperature, at::kDouble));
  return figures;
}

const char* name_of(models::VoteScheme scheme) {
  switch (scheme) {
    case models::VoteScheme::hard:
      return "hard";
    case models::VoteScheme::soft:
      return "soft";
    case models::VoteScheme::confidence:
      return "confidence";
    case models::VoteScheme::weighted:
      return "weighted";
    default:
      return "coupling";
  }
}

void SchemeMetric::add(const training::Cases& cases) {
  const at::Tensor pairs = cases.output.extra.at(pairs_of_vote).contiguous();
  const auto all = training::values_of<double>(pairs);
  const std::size_t each = vote_.pairs().size();
  std::vector<std::int64_t> winners;
  for (std::size_t row = 0; row * each < all.size(); ++row) {
    const auto second = all.subspan(row * each, each);
    const bool nan = std::ranges::any_of(second, [](double p) { return std::isnan(p); });
    winners.push_back(nan ? 0 : vote_.winner(vote_.scores(scheme_, second), second));
  }
  const at::Tensor& present = cases.example.present;
  counts_.add_predicted(at::tensor(winners, at::kLong),
                        cases.example.targets.at(grade_target).to(at::kCPU),
                        present.defined() ? present.to(at::kCPU) : present);
}

training::Figures SchemeMetric::result() {
  const models::ConfusionMatrix matrix = counts_.matrix();
  return {{"accuracy", models::accuracy(matrix)},
          {"balanced_accuracy", models::balanced_accuracy(matrix)},
          {"macro_f1", models::macro_f1(matrix)},
          {"weighted_f1", models::weighted_f1(matrix)},
          {"qwk", models::quadratic_weighted_kappa(matrix)}};
}

}  // namespace headrace::inline v1::app
