// Where the voxels of a patch's rows lie in its box, and pairs of them at any places. For
// resample_kernels.cpp alone, once for every vector target.
#include <headrace/loaders/volume/internal/resample_task.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(HEADRACE_RESAMPLE_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_RESAMPLE_ROW_INL_H
#undef HEADRACE_RESAMPLE_ROW_INL_H
#else
#define HEADRACE_RESAMPLE_ROW_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

/// Cubic B-spline weights at `t` behind a knot.
HWY_INLINE void spline_weights(float t, float* weights) {
  const float m = 1.0F - t;
  weights[0] = m * m * m * (1.0F / 6.0F);
  weights[1] = 2.0F / 3.0F - t * t * (1.0F - 0.5F * t);
  weights[2] = 2.0F / 3.0F - m * m * (1.0F - 0.5F * m);
  weights[3] = t * t * t * (1.0F / 6.0F);
}

/// What rows of a patch share, kept from row to row.
class Row {
 public:
  explicit Row(const ResampleTask& task) : task_(task) {}

  /// Rows of the same slice follow each other.
  void begin(std::int64_t sample, std::int32_t z, std::int32_t y) {
    const PatchMap& map = task_.maps[sample];
    for (int axis = 0; axis < 3; ++axis) {
      const double* m = map.matrix + 3 * axis;
      base_[axis] = static_cast<float>(map.origin[axis] + (m[0] * z + m[1] * y));
      step_[axis] = static_cast<float>(m[2]);
    }
    map_ = &map;
    box_ =
        task_.boxes + static_cast<std::size_t>(task_.box_offsets[sample]) * size_of(task_.stored);
    if (map.knots[0] == 0) return;
    displacements_ = task_.displacements + task_.displacement_offsets[sample];
    if (sample != sample_) begin_displacements(map);
    if (sample != sample_ || z != z_) collapse_z(z);
    sample_ = sample;
    z_ = z;
    collapse_y(y);
    spread_x();
  }

  const PatchMap& map() const { return *map_; }
  template <class T>
  const T* box() const {
    return reinterpret_cast<const T*>(box_);
  }

  HWY_INLINE VF place(int axis, std::int32_t x) const {
    const DF df;
    const VF along = hn::ConvertTo(df, hn::Add(hn::Set(DI(), x), hn::Iota(DI(), 0)));
    const VF at = hn::Add(hn::Set(df, base_[axis]), hn::Mul(hn::Set(df, step_[axis]), along));
    if (map_->knots[0] == 0) return at;
    return hn::Add(at, hn::LoadU(df, moves_.data() + static_cast<std::size_t>(axis) * width_ + x));
  }

  /// Whether every place is a voxel's own and rows stay rows, forward or backward: a copy.
  bool copies() const {
    const double* m = map_->matrix;
    if (map_->knots[0] != 0 || std::abs(m[8]) != 1.0 || m[2] != 0.0 || m[5] != 0.0) return false;
    for (int axis = 0; axis < 3; ++axis)
      if (base_[axis] != std::floor(base_[axis])) return false;
    return true;
  }
  std::int32_t voxel(int axis) const {
    const float last = static_cast<float>(map_->box_shape[axis] - 1);
    return static_cast<std::int32_t>(std::min(std::max(base_[axis], 0.0F), last));
  }
  float base_x() const { return base_[2]; }
  float step_x() const { return step_[2]; }

 private:
  void begin_displacements(const PatchMap& map) {
    const std::size_t slack = hn::Lanes(DF());
    width_ = static_cast<std::size_t>(task_.patch[2]) + 2 * slack;
    line_ = 3 * static_cast<std::size_t>(map.knots[2]);
    weights_.resize(4 * width_);
    first_.resize(width_);
    moves_.resize(3 * width_);
    slice_.resize(static_cast<std::size_t>(map.knots[1]) * line_);
    row_.resize(line_);
    for (std::int32_t x = 0; x < task_.patch[2]; ++x) {
      float weights[4];
      first_[static_cast<std::size_t>(x)] = knot_of(x, weights);
      for (std::size_t k = 0; k < 4; ++k)
        weights_[k * width_ + static_cast<std::size_t>(x)] = weights[k];
    }
  }

  std::int32_t knot_of(std::int32_t voxel, float* weights) const {
    const float place = static_cast<float>(voxel) * map_->knots_per_voxel;
    const auto knot = static_cast<std::int32_t>(place);
    spline_weights(place - static_cast<float>(knot), weights);
    return knot;
  }

  void blend_lines(const float* from, std::size_t step, const float* weights, float* to) const {
    for (std::size_t i = 0; i < line_; ++i) {
      float sum = weights[0] * from[i];
      for (std::size_t k = 1; k < 4; ++k)
        sum += weights[k] * from[k * step + i];
      to[i] = sum;
    }
  }

  void collapse_z(std::int32_t z) {
    float weights[4];
    const std::int32_t knot = knot_of(z, weights);
    const std::size_t plane = static_cast<std::size_t>(map_->knots[1]) * line_;
    const float* from = displacements_ + static_cast<std::size_t>(knot) * plane;
    for (std::size_t y = 0; y < static_cast<std::size_t>(map_->knots[1]); ++y)
      blend_lines(from + y * line_, plane, weights, slice_.data() + y * line_);
  }

  void collapse_y(std::int32_t y) {
    float weights[4];
    const std::int32_t knot = knot_of(y, weights);
    blend_lines(slice_.data() + static_cast<std::size_t>(knot) * line_, line_, weights,
                row_.data());
  }

  /// Stretches of voxels between the same knots; what is written beyond one's end is written again.
  void spread_x() {
    const DF df;
    const auto lanes = static_cast<std::int32_t>(hn::Lanes(df));
    const std::int32_t width = task_.patch[2];
    const auto knots = static_cast<std::size_t>(map_->knots[2]);
    for (std::int32_t x = 0; x < width;) {
      const std::int32_t knot = first_[static_cast<std::size_t>(x)];
      std::int32_t end = x + 1;
      while (end < width && first_[static_cast<std::size_t>(end)] == knot)
        ++end;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const float* of = row_.data() + axis * knots + knot;
        for (std::int32_t at = x; at < end; at += lanes) {
          const float* weights = weights_.data() + at;
          VF sum = hn::Mul(hn::LoadU(df, weights), hn::Set(df, of[0]));
          for (std::size_t k = 1; k < 4; ++k)
            sum = hn::Add(sum, hn::Mul(hn::LoadU(df, weights + k * width_), hn::Set(df, of[k])));
          hn::StoreU(sum, df, moves_.data() + axis * width_ + at);
        }
      }
      x = end;
    }
  }

  const ResampleTask& task_;
  const PatchMap* map_ = nullptr;
  const std::byte* box_ = nullptr;
  const float* displacements_ = nullptr;
  float base_[3] = {};
  float step_[3] = {};
  std::int64_t sample_ = -1;
  std::int32_t z_ = -1;
  std::size_t width_ = 0;  ///< of a row of weights and moves, with slack
  std::size_t line_ = 0;   ///< floats of a row of knots, three components
  std::vector<float> weights_, moves_, slice_, row_;
  std::vector<std::int32_t> first_;
};

using DU = hn::RebindToUnsigned<DF>;

// Of words_at(): a voxel of 8 or 16 bits in the low ones of each lane, the one beside it along x
// above it, anything above both.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

/// Lane by lane: gathers of AMD's processors take longer.
struct Places {
  HWY_ALIGN std::int32_t lanes[hn::MaxLanes(DI())];
  explicit HWY_INLINE Places(VI places) { hn::Store(places, DI(), lanes); }
};

template <class Pair, class T>
HWY_INLINE Pair pair_at(const T* voxel) {
  Pair both;
  std::memcpy(&both, voxel, sizeof both);
  return both;
}

HWY_INLINE __m128i eight_words(const std::uint8_t* box, const std::int32_t* at) {
  const auto word = [&](int lane) { return pair_at<std::int16_t>(box + at[lane]); };
  __m128i words = _mm_cvtsi32_si128(word(0));
  words = _mm_insert_epi16(words, word(1), 1);
  words = _mm_insert_epi16(words, word(2), 2);
  words = _mm_insert_epi16(words, word(3), 3);
  words = _mm_insert_epi16(words, word(4), 4);
  words = _mm_insert_epi16(words, word(5), 5);
  words = _mm_insert_epi16(words, word(6), 6);
  return _mm_insert_epi16(words, word(7), 7);
}

template <class T>
HWY_INLINE __m128i four_words(const T* box, const std::int32_t* at) {
  const auto word = [&](int lane) { return pair_at<std::int32_t>(box + at[lane]); };
  __m128i words = _mm_cvtsi32_si128(word(0));
  words = _mm_insert_epi32(words, word(1), 1);
  words = _mm_insert_epi32(words, word(2), 2);
  return _mm_insert_epi32(words, word(3), 3);
}

template <class T>
HWY_INLINE __m256i eight_lanes(const T* box, const std::int32_t* at) {
  if constexpr (sizeof(T) == 1)
    return _mm256_cvtepu16_epi32(eight_words(box, at));
  else
    return _mm256_set_m128i(four_words(box, at + 4), four_words(box, at));
}

template <class T>
HWY_INLINE VI words_at(const T* box, const Places& places) {
#if HWY_TARGET <= HWY_AVX3
  return VI{_mm512_inserti64x4(_mm512_castsi256_si512(eight_lanes(box, places.lanes)),
                               eight_lanes(box, places.lanes + 8), 1)};
#else
  return VI{eight_lanes(box, places.lanes)};
#endif
}

#else

struct Places {
  VI lanes;
  explicit HWY_INLINE Places(VI places) : lanes(places) {}
};

template <class T>
HWY_INLINE VI words_at(const T* box, const Places& places) {
  const VI bytes = sizeof(T) == 2 ? hn::ShiftLeft<1>(places.lanes) : places.lanes;
  return hn::GatherOffset(DI(), reinterpret_cast<const std::int32_t*>(box), bytes);
}

#endif

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
