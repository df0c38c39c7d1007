#include <headrace/apps/predict/mask_writer_torch.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/upsample_linear1d.h>

namespace headrace::inline v1::app {
namespace {

// Rows of a picture that are decided at once.
constexpr std::int64_t strip = 128;

// Rows first to last of `height`, bilinearly between those of `scores` [1, C, h, width].
at::Tensor rows_between(const at::Tensor& scores, std::int64_t first, std::int64_t last,
                        std::int64_t height) {
  const std::int64_t from = scores.size(2);
  const double step = static_cast<double>(from) / static_cast<double>(height);
  const at::Tensor place = ((at::arange(first, last, scores.options()) + 0.5) * step - 0.5)
                               .clamp(0.0, static_cast<double>(from - 1));
  const at::Tensor above = place.floor().to(at::kLong);
  const at::Tensor below = (above + 1).clamp_max(from - 1);
  const at::Tensor share = (place - above).view({1, 1, -1, 1});
  const at::Tensor upper = scores.index_select(2, above);
  return upper + share * (scores.index_select(2, below) - upper);
}

}  // namespace

at::Tensor classes_at(const training::Recipe& recipe, const at::Tensor& scores,
                      std::span<const training::TensorMap> fitted, std::int64_t height,
                      std::int64_t width) {
  const bool same = scores.size(1) == height && scores.size(2) == width;
  const at::Tensor wide =
      (same ? scores : at::upsample_linear1d(scores, {width}, /*align_corners=*/false))
          .unsqueeze(0);
  at::Tensor classes = at::empty({height, width}, at::kByte);
  for (std::int64_t first = 0; first < height; first += strip) {
    const std::int64_t last = std::min(height, first + strip);
    const at::Tensor rows =
        same ? wide.slice(2, first, last) : rows_between(wide, first, last, height);
    classes.slice(0, first, last).copy_(recipe.predicted(rows, fitted).squeeze(0));
  }
  return classes;
}

void MaskWriter::add(const training::Cases& cases, std::span<const training::TensorMap> fitted) {
  const at::Tensor& scores = cases.scores;
  const at::Tensor& sizes = cases.example.picture_sizes;
  if (!scores.defined() || scores.dim() != 4 || !sizes.defined() ||
      cases.origins.size() != static_cast<std::size_t>(scores.size(0)))
    throw ConfigError(
        "[predict] masks need scores [pictures, classes, height, width] of pictures whose sizes "
        "and "
        "names are known; this kind has others");
  const at::Tensor sides = sizes.cpu().contiguous();
  const auto* side = sides.const_data_ptr<std::int64_t>();
  const at::Tensor present =
      cases.example.present.defined() ? cases.example.present.cpu() : at::Tensor();
  const at::Tensor nan = training::rows_with_nan(scores).cpu();
  for (std::int64_t row = 0; row < scores.size(0); ++row) {
    const std::string& picture = cases.origins[static_cast<std::size_t>(row)].file;
    if (std::ranges::binary_search(cases.unread, row)) {
      folder_.leave_out(picture);
      continue;
    }
    if (present.defined() && !present[row].item<bool>()) continue;
    if (nan[row].item<bool>()) {
      folder_.leave_out(picture);
      if (nothing_.cases++ == 0) nothing_.first = picture;
      continue;
    }
    const std::int64_t height = side[2 * row];
    const std::int64_t width = side[2 * row + 1];
    const at::Tensor classes = classes_at(recipe_, scores[row], fitted, height, width);
    folder_.write(picture, mask_png({.classes = {classes.const_data_ptr<std::uint8_t>(),
                                                 static_cast<std::size_t>(classes.numel())},
                                     .width = static_cast<int>(width),
                                     .height = static_cast<int>(height)},
                                    format_));
  }
}

}  // namespace headrace::inline v1::app
