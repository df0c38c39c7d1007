#include <headrace/engine/base/error.h>
#include <headrace/models/losses/mean_loss.h>
#include <headrace/models/losses/targets.h>

namespace headrace::inline v1::models::detail {

std::string shape_text(const at::Tensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.sizes())
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return '[' + text + ']';
}

at::Tensor channel_targets(const std::string& loss, const at::Tensor& logits,
                           const at::Tensor& target) {
  if (logits.dim() >= 2) {
    if (target.sizes() == logits.sizes()) return target;
    if (logits.size(1) == 1 && target.sizes() == logits.select(1, 0).sizes())
      return target.unsqueeze(1);
  }
  throw ConfigError('[' + loss + "] targets must have the shape of the logits, " +
                    shape_text(logits) + " with a value for each channel, got " +
                    shape_text(target));
}

at::Tensor counted_targets(const at::Tensor& target, const at::Tensor& of_samples,
                           const std::optional<at::Scalar>& ignore) {
  at::Tensor counts;
  if (of_samples.defined()) counts = beside_axes(of_samples != 0, target.dim());
  if (!ignore) return counts;
  const at::Tensor known = target != *ignore;
  return counts.defined() ? counts & known : known;
}

at::Tensor factors_of_targets(const at::Tensor& target, const at::Tensor& of_samples,
                              const std::optional<at::Scalar>& ignore, at::ScalarType type) {
  at::Tensor factor;
  if (of_samples.defined()) factor = beside_axes(of_samples.to(type), target.dim());
  if (!ignore) return factor;
  const at::Tensor known = (target != *ignore).to(type);
  return factor.defined() ? factor * known : known;
}

}  // namespace headrace::inline v1::models::detail
