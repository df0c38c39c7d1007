#include <headrace/models/metrics/top_k.h>

#include <ATen/ops/clamp.h>
#include <ATen/ops/gather.h>

namespace headrace::inline v1::models {

at::Tensor is_in_top_k(const at::Tensor& scores, const at::Tensor& target, std::int64_t k) {
  const at::Tensor index = at::clamp(target, 0, scores.size(1) - 1).unsqueeze(1);
  const at::Tensor own = at::gather(scores, 1, index);
  // Those that are not below the own, which is one of them: also where either is NaN.
  return (scores < own).logical_not().sum(1) <= k;
}

}  // namespace headrace::inline v1::models
