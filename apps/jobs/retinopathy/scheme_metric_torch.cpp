#include <headrace/apps/jobs/retinopathy/scheme_metric_torch.h>
#include <headrace/training/kept_rows.h>

#include <cstddef>
#include <vector>

#include <ATen/ops/tensor.h>

namespace headrace::inline v1::app {

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
    winners.push_back(vote_.winner(vote_.scores(scheme_, second), second));
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
