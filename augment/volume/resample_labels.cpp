#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/augment/volume/resample_scores.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <string>

namespace headrace::inline v1 {
namespace {

using detail::LinearTap;

std::vector<LinearTap> taps_of(std::int64_t from, std::int64_t to) {
  std::vector<LinearTap> taps;
  for (std::int64_t at = 0; at < to; ++at)
    taps.push_back(detail::linear_tap(at, from, to));
  return taps;
}

/// The label with the largest weight among 8, the least of several.
template <class Label>
Label heaviest(const std::array<Label, 8>& labels, const std::array<float, 8>& weights) {
  constexpr float rounding = 1e-6F;
  Label best = labels[0];
  float most = -1.0F;
  for (const Label label : labels) {
    float sum = 0.0F;
    for (std::size_t i = 0; i < 8; ++i)
      if (labels[i] == label) sum += weights[i];
    if (sum > most + rounding || (label < best && sum >= most - rounding)) {
      most = sum;
      best = label;
    }
  }
  return best;
}

template <class Label>
void take_heaviest(const Label* labels, const LabelResampling& of, Label* out) {
  const GridExtent& from = of.from;
  const std::vector<LinearTap> along_x = taps_of(from[2], of.to[2]);
  for (const LinearTap& z : taps_of(from[0], of.to[0])) {
    for (const LinearTap& y : taps_of(from[1], of.to[1])) {
      const std::array<const Label*, 4> rows{labels + (z.first * from[1] + y.first) * from[2],
                                             labels + (z.first * from[1] + y.second) * from[2],
                                             labels + (z.second * from[1] + y.first) * from[2],
                                             labels + (z.second * from[1] + y.second) * from[2]};
      const std::array<float, 4> of_rows{z.of_first * y.of_first, z.of_first * y.of_second,
                                         z.of_second * y.of_first, z.of_second * y.of_second};
      for (const LinearTap& x : along_x) {
        std::array<Label, 8> around{};
        std::array<float, 8> weights{};
        for (std::size_t row = 0; row < 4; ++row) {
          around[2 * row] = rows[row][x.first];
          around[2 * row + 1] = rows[row][x.second];
          weights[2 * row] = of_rows[row] * x.of_first;
          weights[2 * row + 1] = of_rows[row] * x.of_second;
        }
        const bool alike =
            std::ranges::all_of(around, [&](Label label) { return label == around[0]; });
        *out++ = alike ? around[0] : heaviest(around, weights);
      }
    }
  }
}

template <class Label>
void resample(std::span<const Label> labels, const LabelResampling& of, std::span<Label> out) {
  const std::int64_t from = voxels_of(of.from), to = voxels_of(of.to);
  if (from == 0 || from != static_cast<std::int64_t>(labels.size()) || to == 0 ||
      to != static_cast<std::int64_t>(out.size())) {
    throw ConfigError("[resample labels] extents say " + std::to_string(from) + " and " +
                      std::to_string(to) + " voxels, got " + std::to_string(labels.size()) +
                      " and " + std::to_string(out.size()));
  }
  if (of.rule == LabelResampling::Rule::nearest) {
    std::vector<std::int64_t> columns(static_cast<std::size_t>(of.to[2]));
    detail::take_nearest(labels.data(), {of.from, of.to}, columns.data(), out.data());
  } else {
    take_heaviest(labels.data(), of, out.data());
  }
}

}  // namespace

void resample_labels(std::span<const std::uint8_t> labels, const LabelResampling& resampling,
                     std::span<std::uint8_t> out) {
  resample(labels, resampling, out);
}

void resample_labels(std::span<const std::int16_t> labels, const LabelResampling& resampling,
                     std::span<std::int16_t> out) {
  resample(labels, resampling, out);
}

}  // namespace headrace::inline v1
