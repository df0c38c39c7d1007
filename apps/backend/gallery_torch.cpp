#include <headrace/apps/backend/gallery_torch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <ATen/core/Tensor.h>
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
  judged.badness = judged.badness.nan_to_num(0.0);  // of scores that are none
  return judged;
}

namespace {

std::string two_digits(double value) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::vector<std::uint8_t> bytes_of(const at::Tensor& tensor) {
  const at::Tensor bytes = tensor.to(at::kCPU, at::kByte).contiguous();
  const auto* first = bytes.const_data_ptr<std::uint8_t>();
  return {first, first + bytes.numel()};
}

}  // namespace

void GalleryKeeper::add(const training::Cases& cases) {
  const at::Tensor pictures = course_.pictures(cases.example);
  const std::optional<Judged> judged = judge(recipe_, cases, fitted_);
  if (!pictures.defined() || !judged) return;
  const AtHand all{.cases = cases, .judged = *judged, .pictures = pictures};
  const at::Tensor badness = judged->badness.to(at::kDouble).contiguous();
  const auto some = static_cast<std::int64_t>(options_.some);
  const std::int64_t step =
      some == 0 ? 0 : std::max<std::int64_t>(1, (options_.records + some - 1) / some);
  for (std::int64_t row = 0; row < badness.size(0); ++row) {
    const double bad = badness.const_data_ptr<double>()[row];
    if (std::ranges::binary_search(cases.unread, row)) continue;
    if (step > 0 && (cases.first + row) % step == 0) gallery_.some.push_back(picture_of(all, row));
    if (!is_among_worst(bad)) continue;
    std::vector<JudgedPicture>& worst = gallery_.worst;
    const auto place = std::upper_bound(
        worst.begin(), worst.end(), bad,
        [](double one, const JudgedPicture& other) { return one > other.badness; });
    worst.insert(place, picture_of(all, row));
    if (worst.size() > options_.worst) worst.pop_back();
  }
  gallery_.records += badness.size(0) - std::ssize(cases.unread);
}

Gallery GalleryKeeper::result() const {
  Gallery gallery = gallery_;
  gallery.classes = options_.classes;
  return gallery;
}

bool GalleryKeeper::is_among_worst(double badness) const {
  if (!(badness > 0.0)) return false;
  return gallery_.worst.size() < options_.worst || badness > gallery_.worst.back().badness;
}

JudgedPicture GalleryKeeper::picture_of(const AtHand& all, std::int64_t row) const {
  JudgedPicture one{.picture = {.width = static_cast<int>(all.pictures.size(2)),
                                .height = static_cast<int>(all.pictures.size(1)),
                                .rgb = bytes_of(all.pictures[row])},
                    .badness = all.judged.badness[row].item<double>()};
  if (static_cast<std::size_t>(row) < all.cases.origins.size())
    one.file = all.cases.origins[static_cast<std::size_t>(row)].file;
  describe(one, all.judged, row);
  return one;
}

void GalleryKeeper::describe(JudgedPicture& one, const Judged& judged, std::int64_t row) const {
  const at::Tensor predicted = judged.predicted[row];
  const at::Tensor truth = judged.truth[row];
  if (!judged.scores.defined()) {
    one.true_mask = bytes_of(truth);
    one.predicted_mask = bytes_of(predicted);
    one.predicted = "Dice " + two_digits(1.0 - one.badness);
    return;
  }
  const at::Tensor scores = judged.scores[row];
  if (predicted.dim() == 0) {
    const std::int64_t label = predicted.item<std::int64_t>();
    one.truth = name(truth.item<std::int64_t>());
    one.predicted = name(label) + ' ' + two_digits(scores[label].item<double>());
    return;
  }
  for (std::int64_t label = 0; label < predicted.size(0); ++label) {
    const auto add = [&](std::string& words, const std::string& word) {
      words += (words.empty() ? "" : ", ") + word;
    };
    if (truth[label].item<bool>()) add(one.truth, name(label));
    if (predicted[label].item<bool>())
      add(one.predicted, name(label) + ' ' + two_digits(scores[label].item<double>()));
  }
  if (one.truth.empty()) one.truth = "none";
  if (one.predicted.empty()) one.predicted = "none";
}

std::string GalleryKeeper::name(std::int64_t label) const {
  const auto at = static_cast<std::size_t>(label);
  return at < options_.classes.size() ? options_.classes[at] : std::to_string(label);
}

}  // namespace headrace::inline v1::app
