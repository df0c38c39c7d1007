#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/export.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// From one grid to another over the same space: edges meet edges (PyTorch's align_corners=false),
/// the border goes on.
struct ScoreResampling {
  enum class Rule : unsigned char {
    linear,
    cubic,  ///< 4 voxels along each axis, a = -0.75 as PyTorch's
  };
  std::int64_t channels = 1;
  GridExtent from{};
  GridExtent to{};
  Rule rule = Rule::linear;
};

/// Scores, float32 [channels, z, y, x], on another grid, some slices at a time. Used by one thread
/// at a time.
class HEADRACE_API ScoreResampler {
 public:
  /// Throws ConfigError for extents and channels that are not positive.
  explicit ScoreResampler(const ScoreResampling& resampling);

  /// Slices [first, last) along z of the result as [channels, last - first, y, x]. Throws
  /// ConfigError when spans or slices do not fit.
  void slices(std::span<const float> scores, std::int64_t first, std::int64_t last,
              std::span<float> out);
  /// Memory that it holds: one slice of scores and the taps.
  std::size_t bytes() const noexcept;

 private:
  struct Axis {
    std::vector<std::int32_t> places;  ///< as many as there are taps, for each voxel
    std::vector<float> weights;
    bool same = false;
  };
  Axis axis_of(std::size_t number) const;
  const float* blend_slices(const float* channel, std::int64_t z);
  const float* blend_rows(const float* slice, std::int64_t y);

  ScoreResampling resampling_;
  std::int64_t taps_;
  std::array<Axis, 3> axes_;
  std::vector<float> slice_;
  std::vector<float> row_;
};

/// The labels of scores on another grid: of each voxel the channel with the highest score, the
/// first of several, or, with a threshold and one channel, 1 where the score is above it. Slice by
/// slice: asks for two slices of scores of the result's grid and a ScoreResampler, however large
/// the volume. Throws ConfigError as ScoreResampler, for more channels than labels have values, and
/// for a threshold where there are several.
HEADRACE_API void labels_of_scores(std::span<const float> scores, const ScoreResampling& resampling,
                                   std::optional<float> threshold, std::span<std::uint8_t> labels);
HEADRACE_API void labels_of_scores(std::span<const float> scores, const ScoreResampling& resampling,
                                   std::optional<float> threshold, std::span<std::int16_t> labels);

/// Labels on another grid.
struct LabelResampling {
  enum class Rule : unsigned char {
    nearest,  ///< the nearest voxel's (PyTorch's nearest-exact)
    linear,   ///< the label with the largest share of the voxels around; of two the lesser label
  };
  GridExtent from{};
  GridExtent to{};
  Rule rule = Rule::nearest;
};
HEADRACE_API void resample_labels(std::span<const std::uint8_t> labels,
                                  const LabelResampling& resampling, std::span<std::uint8_t> out);
HEADRACE_API void resample_labels(std::span<const std::int16_t> labels,
                                  const LabelResampling& resampling, std::span<std::int16_t> out);

}  // namespace headrace::inline v1
