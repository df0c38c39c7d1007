// The voxels around a place in a box, and their shares; labels there. For resample_kernels.cpp
// alone, once for every vector target.
#include <headrace/loaders/volume/internal/resample_task.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(HEADRACE_RESAMPLE_CORNER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_RESAMPLE_CORNER_INL_H
#undef HEADRACE_RESAMPLE_CORNER_INL_H
#else
#define HEADRACE_RESAMPLE_CORNER_INL_H
#endif

#include <headrace/loaders/volume/detail/patch/resample_row-inl.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

template <class T>
HWY_INLINE void split(VI word, VF& here, VF& next) {
  const DF df;
  if constexpr (std::is_same_v<T, std::int16_t>) {
    here = hn::ConvertTo(df, hn::ShiftRight<16>(hn::ShiftLeft<16>(word)));
    next = hn::ConvertTo(df, hn::ShiftRight<16>(word));
  } else if constexpr (sizeof(T) == 2) {
    here = hn::ConvertTo(df, hn::And(word, hn::Set(DI(), 0xffff)));
    next = hn::ConvertTo(df, hn::BitCast(DI(), hn::ShiftRight<16>(hn::BitCast(DU(), word))));
  } else {
    const VI byte = hn::Set(DI(), 0xff);
    here = hn::ConvertTo(df, hn::And(word, byte));
    next = hn::ConvertTo(df, hn::And(hn::ShiftRight<8>(word), byte));
  }
}

/// Along one axis: the voxel before the place and the share of the one behind it.
struct Tap {
  VI voxel;
  VF share;
};

HWY_INLINE Tap tap_of(VF place, std::int32_t extent) {
  const DF df;
  const DI di;
  const VF last = hn::Set(df, static_cast<float>(extent - 1));
  const VF inside = hn::Min(hn::Max(place, hn::Zero(df)), last);
  const VI voxel =
      hn::Min(hn::ConvertTo(di, inside), hn::Set(di, std::max(extent - 2, std::int32_t{0})));
  return {voxel, hn::Sub(inside, hn::ConvertTo(df, voxel))};
}

/// Of shares 0 and 1 it is one of both, to the bit, where both are finite.
HWY_INLINE VF blend(VF a, VF b, VF share) {
  const VF rest = hn::Sub(hn::Set(DF(), 1.0F), share);
  return hn::Add(hn::Mul(rest, a), hn::Mul(share, b));
}

struct Strides {
  std::int32_t y, z;
  std::int64_t channel;
  explicit Strides(const PatchMap& map)
      : y(map.box_shape[2]),
        z(map.box_shape[2] * map.box_shape[1]),
        channel(static_cast<std::int64_t>(map.box_shape[2]) * map.box_shape[1] * map.box_shape[0]) {
  }
};

/// The four rows of voxels around the places, and the shares between them.
struct Corner {
  VI place;                 ///< of the first voxel in the box
  std::int32_t dx, dy, dz;  ///< to the next one
  VF x, y, z;
};

HWY_INLINE Corner corner_at(const Row& row, const Strides& strides, std::int32_t x) {
  const DI di;
  const PatchMap& map = row.map();
  const Tap z = tap_of(row.place(0, x), map.box_shape[0]);
  const Tap y = tap_of(row.place(1, x), map.box_shape[1]);
  const Tap at = tap_of(row.place(2, x), map.box_shape[2]);
  const VI place = hn::Add(
      hn::Add(hn::Mul(z.voxel, hn::Set(di, strides.z)), hn::Mul(y.voxel, hn::Set(di, strides.y))),
      at.voxel);
  return {.place = place,
          .dx = map.box_shape[2] > 1 ? 1 : 0,
          .dy = map.box_shape[1] > 1 ? strides.y : 0,
          .dz = map.box_shape[0] > 1 ? strides.z : 0,
          .x = at.share,
          .y = y.share,
          .z = z.share};
}

/// Of the rows around the places, y fastest.
template <class T>
HWY_INLINE void words_around(const T* box, const Corner& at, VI* words) {
  const Places places(at.place);
  words[0] = words_at(box, places);
  words[1] = words_at(box + at.dy, places);
  words[2] = words_at(box + at.dz, places);
  words[3] = words_at(box + at.dz + at.dy, places);
}

/// The eight voxels around the places, x fastest, then y; of float32 none outside the box.
template <class T>
HWY_INLINE void voxels_around(const T* box, const Corner& at, VF* voxels) {
  if constexpr (sizeof(T) == 4) {
    for (int k = 0; k < 4; ++k) {
      const T* row = box + ((k & 1) != 0 ? at.dy : 0) + (k >= 2 ? at.dz : 0);
      voxels[2 * k] = hn::GatherIndex(DF(), row, at.place);
      voxels[2 * k + 1] = hn::GatherIndex(DF(), row + at.dx, at.place);
    }
  } else {
    VI words[4];
    words_around(box, at, words);
    for (int k = 0; k < 4; ++k)
      split<T>(words[k], voxels[2 * k], voxels[2 * k + 1]);
  }
}

HWY_INLINE std::int64_t patch_voxels(const ResampleTask& task) {
  return static_cast<std::int64_t>(task.patch[0]) * task.patch[1] * task.patch[2];
}

/// A row of a sample's patch in its first channel; the next one lies patch_voxels() behind.
template <class Out>
HWY_INLINE Out* row_out(const ResampleTask& task, std::int64_t sample, std::int64_t at) {
  return static_cast<Out*>(task.to) + sample * task.channels * patch_voxels(task) +
         at * task.patch[2];
}

/// Full vectors, the last one of a row over what is written already.
template <class Write>
HWY_INLINE void for_vectors(std::int32_t width, const Write& write) {
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(DF()));
  for (std::int32_t x = 0; x < width; x += lanes)
    write(x, std::min(lanes, width - x));
}

HWY_INLINE void store_some(VF value, float* to, std::int32_t count) {
  const DF df;
  if (count == static_cast<std::int32_t>(hn::Lanes(df))) {
    hn::StoreU(value, df, to);
    return;
  }
  HWY_ALIGN float some[hn::MaxLanes(DF())];
  hn::Store(value, df, some);
  std::memcpy(to, some, static_cast<std::size_t>(count) * sizeof(float));
}

HWY_INLINE void weights_of(const Corner& at, VF* weights) {
  const VF one = hn::Set(DF(), 1.0F);
  const VF z[2] = {hn::Sub(one, at.z), at.z};
  const VF y[2] = {hn::Sub(one, at.y), at.y};
  const VF x[2] = {hn::Sub(one, at.x), at.x};
  for (int k = 0; k < 8; ++k)
    weights[k] = hn::Mul(hn::Mul(z[k >> 2], y[(k >> 1) & 1]), x[k & 1]);
}

/// heaviest() where around no place there are more than two values; else false.
HWY_INLINE bool heavier_of_two(const VF* values, const VF* weights, VF& label) {
  VF low = values[0];
  VF high = values[0];
  for (int k = 1; k < 8; ++k) {
    low = hn::IfThenElse(hn::Lt(values[k], low), values[k], low);  // of zeros the first one's sign
    high = hn::IfThenElse(hn::Gt(values[k], high), values[k], high);
  }
  VF of_low = hn::Zero(DF());
  VF of_high = hn::Zero(DF());
  auto two = hn::Eq(low, low);
  for (int k = 0; k < 8; ++k) {
    const auto is_low = hn::Eq(values[k], low);
    const auto is_high = hn::Eq(values[k], high);
    two = hn::And(two, hn::Or(is_low, is_high));
    of_low = hn::Add(of_low, hn::IfThenElseZero(is_low, weights[k]));
    of_high = hn::Add(of_high, hn::IfThenElseZero(is_high, weights[k]));
  }
  label = hn::IfThenElse(hn::Gt(of_high, of_low), high, low);
  return hn::AllTrue(DF(), two);
}

/// The value with the largest sum of weights, of equal ones the smallest.
HWY_INLINE VF heaviest(const VF* values, const Corner& at) {
  const DF df;
  VF weights[8];
  weights_of(at, weights);
  VF best;
  if (heavier_of_two(values, weights, best)) return best;
  best = values[0];
  VF most = hn::Set(df, -1.0F);
  for (int i = 0; i < 8; ++i) {
    VF sum = hn::Zero(df);
    for (int k = 0; k < 8; ++k)
      sum = hn::Add(sum, hn::IfThenElseZero(hn::Eq(values[k], values[i]), weights[k]));
    const auto better =
        hn::Or(hn::Gt(sum, most), hn::And(hn::Eq(sum, most), hn::Lt(values[i], best)));
    best = hn::IfThenElse(better, values[i], best);
    most = hn::Max(most, sum);
  }
  return best;
}

/// Whether around each place all voxels are one.
template <class T>
HWY_INLINE bool alike(const VI* words) {
  constexpr int bits = 8 * sizeof(T);
  const VI first = hn::Set(DI(), (1 << bits) - 1);
  VI rows = hn::Or(hn::Xor(words[0], words[1]), hn::Xor(words[0], words[2]));
  rows = hn::Or(rows, hn::Xor(words[0], words[3]));
  if constexpr (bits == 8) rows = hn::And(rows, hn::Set(DI(), 0xffff));
  const VI beside = hn::And(hn::Xor(words[0], hn::ShiftRight<bits>(words[0])), first);
  return hn::AllTrue(DI(), hn::Eq(hn::Or(rows, beside), hn::Zero(DI())));
}

template <class T>
HWY_INLINE void store_labels(VI labels, T* to, std::int32_t count) {
  if (count == static_cast<std::int32_t>(hn::Lanes(DF()))) {
    using Unsigned = std::make_unsigned_t<T>;
    const hn::Rebind<Unsigned, DF> narrow;
    hn::StoreU(hn::TruncateTo(narrow, hn::BitCast(DU(), labels)), narrow,
               reinterpret_cast<Unsigned*>(to));
    return;
  }
  HWY_ALIGN std::int32_t some[hn::MaxLanes(DF())];
  hn::Store(labels, DI(), some);
  for (std::int32_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(some[i]);
}

/// Beside the last voxel of a row lies another's, of no weight.
template <class T>
HWY_INLINE void put_labels(const T* box, const Corner& at, T* to, std::int32_t count) {
  VF values[8];
  if constexpr (sizeof(T) == 4) {
    voxels_around(box, at, values);
    store_some(heaviest(values, at), to, count);
  } else {
    VI words[4];
    words_around(box, at, words);
    if (alike<T>(words)) return store_labels(words[0], to, count);
    for (int k = 0; k < 4; ++k)
      split<T>(words[k], values[2 * k], values[2 * k + 1]);
    store_labels(hn::ConvertTo(DI(), heaviest(values, at)), to, count);
  }
}

template <class T>
void one_hot_row(const ResampleTask& task, const Row& row, std::int64_t sample, std::int64_t at) {
  const Strides strides(row.map());
  const std::int64_t voxels = patch_voxels(task);
  T* to = row_out<T>(task, sample, at);
  for_vectors(task.patch[2], [&](std::int32_t x, std::int32_t count) {
    const Corner corner = corner_at(row, strides, x);
    for (std::int64_t c = 0; c < task.channels; ++c)
      put_labels(row.box<T>() + c * strides.channel, corner, to + c * voxels + x, count);
  });
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
