#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/augment/volume/resample_scores.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace headrace::inline v1 {
namespace {

[[noreturn]] void refuse_resampling(const std::string& rule, const std::string& got) {
  throw ConfigError("[resample scores] " + rule + ", got " + got);
}

void require_voxels(const char* whose, std::int64_t expected, std::size_t got) {
  if (expected != static_cast<std::int64_t>(got))
    refuse_resampling(std::string(whose) + " must have " + std::to_string(expected) + " values",
                      std::to_string(got));
}

/// Weights of the voxels -1, 0, 1, 2 about a place `part` behind voxel 0.
std::array<double, 4> cubic_weights(double part) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0; };
  const auto far = [](double d) { return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a; };
  return {far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)};
}

/// The sum of `taps` lines with weights; those of weight 0 are not looked at.
void blend(const float* from, std::int64_t line, std::int64_t taps, const std::int32_t* places,
           const float* weights, float* out) {
  bool first = true;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const float weight = weights[tap];
    if (weight == 0.0F) continue;
    const float* values = from + places[tap] * line;
    if (first) {
      for (std::int64_t i = 0; i < line; ++i)
        out[i] = weight * values[i];
    } else {
      for (std::int64_t i = 0; i < line; ++i)
        out[i] += weight * values[i];
    }
    first = false;
  }
}

}  // namespace

ScoreResampler::ScoreResampler(const ScoreResampling& resampling)
    : resampling_(resampling), taps_(resampling.rule == ScoreResampling::Rule::cubic ? 4 : 2) {
  if (resampling.channels < 1 || voxels_of(resampling.from) == 0 || voxels_of(resampling.to) == 0)
    refuse_resampling("channels and extents must be positive", "others");
  if (std::ranges::max(resampling.from) > std::numeric_limits<std::int32_t>::max())
    refuse_resampling("extents must be below 2^31",
                      std::to_string(std::ranges::max(resampling.from)));
  for (std::size_t axis = 0; axis < 3; ++axis)
    axes_[axis] = axis_of(axis);
  slice_.resize(static_cast<std::size_t>(resampling.from[1] * resampling.from[2]));
  row_.resize(static_cast<std::size_t>(resampling.from[2]));
}

ScoreResampler::Axis ScoreResampler::axis_of(std::size_t number) const {
  const std::int64_t from = resampling_.from[number], to = resampling_.to[number];
  Axis axis{.places = {}, .weights = {}, .same = from == to};
  for (std::int64_t at = 0; at < to; ++at) {
    if (resampling_.rule == ScoreResampling::Rule::linear) {
      const detail::LinearTap tap = detail::linear_tap(at, from, to);
      axis.places.insert(axis.places.end(), {tap.first, tap.second});
      axis.weights.insert(axis.weights.end(), {tap.of_first, tap.of_second});
      continue;
    }
    const double place =
        (static_cast<double>(at) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const double below = std::floor(place);
    const std::array<double, 4> weights = cubic_weights(place - below);
    for (std::int64_t tap = 0; tap < 4; ++tap) {
      const std::int64_t voxel = static_cast<std::int64_t>(below) + tap - 1;
      axis.places.push_back(
          static_cast<std::int32_t>(std::clamp<std::int64_t>(voxel, 0, from - 1)));
      axis.weights.push_back(static_cast<float>(weights[static_cast<std::size_t>(tap)]));
    }
  }
  return axis;
}

const float* ScoreResampler::blend_slices(const float* channel, std::int64_t z) {
  const std::int64_t plane = resampling_.from[1] * resampling_.from[2];
  if (axes_[0].same) return channel + z * plane;
  blend(channel, plane, taps_, axes_[0].places.data() + z * taps_,
        axes_[0].weights.data() + z * taps_, slice_.data());
  return slice_.data();
}

const float* ScoreResampler::blend_rows(const float* slice, std::int64_t y) {
  const std::int64_t width = resampling_.from[2];
  if (axes_[1].same) return slice + y * width;
  blend(slice, width, taps_, axes_[1].places.data() + y * taps_,
        axes_[1].weights.data() + y * taps_, row_.data());
  return row_.data();
}

void ScoreResampler::slices(std::span<const float> scores, std::int64_t first, std::int64_t last,
                            std::span<float> out) {
  const GridExtent &from = resampling_.from, &to = resampling_.to;
  if (first < 0 || last < first || last > to[0]) {
    refuse_resampling("slices must be among the " + std::to_string(to[0]),
                      std::to_string(first) + " to " + std::to_string(last));
  }
  require_voxels("scores", resampling_.channels * voxels_of(from), scores.size());
  require_voxels("slices", resampling_.channels * (last - first) * to[1] * to[2], out.size());
  float* at = out.data();
  for (std::int64_t c = 0; c < resampling_.channels; ++c) {
    for (std::int64_t z = first; z < last; ++z) {
      const float* slice = blend_slices(scores.data() + c * voxels_of(from), z);
      for (std::int64_t y = 0; y < to[1]; ++y, at += to[2]) {
        const float* row = blend_rows(slice, y);
        if (axes_[2].same) {
          std::copy(row, row + to[2], at);
          continue;
        }
        const std::int32_t* places = axes_[2].places.data();
        const float* weights = axes_[2].weights.data();
        for (std::int64_t x = 0; x < to[2]; ++x) {
          float sum = 0.0F;
          for (std::int64_t tap = 0; tap < taps_; ++tap)
            if (*weights++ != 0.0F) sum += weights[-1] * row[places[tap]];
          at[x] = sum;
          places += taps_;
        }
      }
    }
  }
}

std::size_t ScoreResampler::bytes() const noexcept {
  std::size_t taps = 0;
  for (const Axis& axis : axes_)
    taps += axis.places.size();
  return (slice_.size() + row_.size()) * sizeof(float) +
         taps * (sizeof(float) + sizeof(std::int32_t));
}

namespace {

/// Of one slice [channels, plane].
template <class Label>
void choose(const std::vector<float>& scores, std::int64_t channels, std::optional<float> threshold,
            std::vector<float>& best, std::span<Label> labels) {
  const std::size_t plane = labels.size();
  if (threshold) {
    for (std::size_t i = 0; i < plane; ++i)
      labels[i] = scores[i] > *threshold ? Label{1} : Label{0};
    return;
  }
  std::copy_n(scores.begin(), plane, best.begin());
  std::ranges::fill(labels, Label{0});
  for (std::int64_t c = 1; c < channels; ++c) {
    const float* of_class = scores.data() + static_cast<std::size_t>(c) * plane;
    for (std::size_t i = 0; i < plane; ++i) {
      if (!(of_class[i] > best[i])) continue;
      best[i] = of_class[i];
      labels[i] = static_cast<Label>(c);
    }
  }
}

template <class Label>
void make_labels(std::span<const float> scores, const ScoreResampling& resampling,
                 std::optional<float> threshold, std::span<Label> labels) {
  ScoreResampler resampler(resampling);
  require_voxels("labels", voxels_of(resampling.to), labels.size());
  if (threshold && resampling.channels != 1)
    refuse_resampling("a threshold is for one channel", std::to_string(resampling.channels));
  if (resampling.channels - 1 > std::numeric_limits<Label>::max())
    refuse_resampling("labels must have a value for each channel",
                      std::to_string(resampling.channels));
  const auto plane = static_cast<std::size_t>(resampling.to[1] * resampling.to[2]);
  std::vector<float> slice(plane * static_cast<std::size_t>(resampling.channels));
  std::vector<float> best(threshold ? 0 : plane);
  for (std::int64_t z = 0; z < resampling.to[0]; ++z) {
    resampler.slices(scores, z, z + 1, slice);
    choose(slice, resampling.channels, threshold, best,
           labels.subspan(static_cast<std::size_t>(z) * plane, plane));
  }
}

}  // namespace

void labels_of_scores(std::span<const float> scores, const ScoreResampling& resampling,
                      std::optional<float> threshold, std::span<std::uint8_t> labels) {
  make_labels(scores, resampling, threshold, labels);
}

void labels_of_scores(std::span<const float> scores, const ScoreResampling& resampling,
                      std::optional<float> threshold, std::span<std::int16_t> labels) {
  make_labels(scores, resampling, threshold, labels);
}

}  // namespace headrace::inline v1
