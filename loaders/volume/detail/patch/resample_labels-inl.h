// Labels at places between voxels. For resample_kernels.cpp alone, once for every vector target.
#include <headrace/loaders/volume/internal/resample_task.h>

#include <cstdint>
#include <type_traits>

#if defined(HEADRACE_RESAMPLE_LABELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_RESAMPLE_LABELS_INL_H
#undef HEADRACE_RESAMPLE_LABELS_INL_H
#else
#define HEADRACE_RESAMPLE_LABELS_INL_H
#endif

#include <headrace/loaders/volume/detail/patch/resample_corner-inl.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

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
