#include <headrace/training/metrics/kept_rows.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>

namespace headrace::inline v1::training {

void KeptRows::add(const at::Tensor& scores, const at::Tensor& targets, const at::Tensor& present) {
  // All copies before any is kept: where memory runs out between them there are as many of each.
  const at::Tensor kept = scores.to(at::kFloat).clone();
  const at::Tensor known = targets.clone();
  const at::Tensor there = present.defined()
                               ? present.clone()
                               : at::ones({scores.size(0)}, scores.options().dtype(at::kBool));
  scores_.push_back(kept);
  targets_.push_back(known);
  present_.push_back(there);
}

KeptRows::OnHost KeptRows::on_host() const {
  const at::Tensor rows = at::cat(present_).to(at::kCPU).nonzero().flatten();
  return {.scores = at::index_select(at::cat(scores_).to(at::kCPU), 0, rows).contiguous(),
          .targets = at::index_select(at::cat(targets_).to(at::kCPU), 0, rows).contiguous()};
}

}  // namespace headrace::inline v1::training
