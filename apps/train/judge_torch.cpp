#include <headrace/apps/train/judge_torch.h>

#include <cstdint>

#include <ATen/ops/argmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t ignored = 255;

// Class indices of masks; those of several channels are numbered from 1.
at::Tensor labels_of(const at::Tensor& target) {
  if (target.dim() == 3) return target.to(at::kLong);
  if (target.size(1) == 1 && !target.is_floating_point()) return target.squeeze(1).to(at::kLong);
  const at::Tensor there = (target >= 0.5) & (target != ignored);
  const at::Tensor labels = at::where(there.any(1), at::argmax(there.to(at::kInt), 1) + 1, 0);
  return at::where((target == ignored).any(1), ignored, labels);
}

// 1 - Dice of each row, in the mean over classes that are there or predicted.
at::Tensor lack_of_dice(const at::Tensor& predicted, const at::Tensor& truth,
                        std::int64_t classes) {
  const at::Tensor counts = truth != ignored;
  at::Tensor sum = at::zeros_like(truth.select(1, 0).select(1, 0), at::kDouble);
  at::Tensor seen = at::zeros_like(sum);
  for (std::int64_t label = 1; label < classes; ++label) {
    const at::Tensor said = (predicted == label) & counts;
    const at::Tensor is = truth == label;
    const at::Tensor both = (said & is).sum({1, 2}).to(at::kDouble);
    const at::Tensor all = (said.sum({1, 2}) + is.sum({1, 2})).to(at::kDouble);
    sum += at::where(all > 0, 1.0 - 2.0 * both / all.clamp_min(1.0), 0.0);
    seen += (all > 0).to(at::kDouble);
  }
  return sum / seen.clamp_min(1.0);
}

Judged judge_masks(const training::Recipe& recipe, const at::Tensor& scores,
                   const at::Tensor& target, std::span<const training::TensorMap> fitted) {
  Judged judged{.predicted = recipe.predicted(scores, fitted).to(at::kLong).cpu(),
                .truth = labels_of(target).cpu()};
  const std::int64_t masks = target.dim() == 4 ? scores.size(1) + 1 : scores.size(1);
  judged.badness = lack_of_dice(judged.predicted, judged.truth, masks);
  return judged;
}

Judged judge_rows(const training::Recipe& recipe, const at::Tensor& scores,
                  const at::Tensor& target, std::span<const training::TensorMap> fitted) {
  Judged judged{.scores = scores.to(at::kFloat).cpu(),
                .predicted = recipe.predicted(scores, fitted).cpu()};
  if (judged.predicted.dim() == 1) {
    judged.truth = training::hard_labels(target).to(at::kLong).cpu();
    const at::Tensor sure =
        judged.scores.gather(1, judged.predicted.unsqueeze(1)).squeeze(1).to(at::kDouble);
    judged.badness = at::where(judged.predicted != judged.truth, sure, 0.0);
    return judged;
  }
  judged.truth = (target >= 0.5).cpu();
  judged.predicted = judged.predicted.to(at::kBool);
  const at::Tensor off = (judged.scores - judged.truth.to(at::kFloat)).abs().to(at::kDouble);
  judged.badness = at::where(judged.predicted != judged.truth, off, 0.0).amax(1);
  return judged;
}

}  // namespace

std::optional<Judged> judge(const training::Recipe& recipe, const training::Cases& cases,
                            std::span<const training::TensorMap> fitted) {
  const at::Tensor& scores = cases.scores;
  if (!scores.defined() || cases.example.targets.size() != 1) return std::nullopt;
  const at::Tensor& target = cases.example.targets.begin()->second;
  if (scores.dim() != 2 && scores.dim() != 4) return std::nullopt;
  Judged judged = scores.dim() == 2 ? judge_rows(recipe, scores, target, fitted)
                                    : judge_masks(recipe, scores, target, fitted);
  const at::Tensor& present = cases.example.present;
  if (present.defined()) judged.badness = at::where(present.cpu(), judged.badness, 0.0);
  return judged;
}

}  // namespace headrace::inline v1::app
