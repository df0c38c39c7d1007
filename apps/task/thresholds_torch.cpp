#include <headrace/apps/task/thresholds_torch.h>

#include <variant>

#include <ATen/ops/full.h>

namespace headrace::inline v1::app {

training::TensorMap thresholds_of(const PredictSettings& predict, const training::TensorMap& fitted,
                                  std::int64_t labels) {
  const auto* given = std::get_if<GivenThreshold>(&predict.threshold);
  if (given == nullptr) return fitted;
  if (labels == 0) return {{"threshold", at::full({}, given->value, at::kDouble)}};
  return {{"thresholds", at::full({labels}, given->value, at::kDouble)}};
}

bool has_thresholds(const PredictSettings& predict, bool validation,
                    const training::TensorMap& thresholds) {
  return !thresholds.empty() ||
         (validation && std::holds_alternative<FittedThreshold>(predict.threshold));
}

}  // namespace headrace::inline v1::app
