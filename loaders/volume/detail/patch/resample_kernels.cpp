// Compiled once for every vector target; Highway picks one at run time. No sum and product are
// fused, so that every target and a device (resample_device.cu) have the same bits.
#include <headrace/loaders/volume/internal/resample_task.h>

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/loaders/volume/detail/patch/resample_kernels.cpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Behind foreach_target.h, so once for every target.
#include <headrace/loaders/volume/detail/patch/resample_corner-inl.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE VF trilinear(const T* box, const Corner& at) {
  VF v[8];
  voxels_around(box, at, v);
  const VF front = blend(blend(v[0], v[1], at.x), blend(v[2], v[3], at.x), at.y);
  const VF back = blend(blend(v[4], v[5], at.x), blend(v[6], v[7], at.x), at.y);
  return blend(front, back, at.z);
}

/// A row whose places are voxels side by side: `put(stored)` makes each value.
template <class T, class Out, class Put>
void copy_row(const T* line, const Row& row, Out* out, std::int32_t width, const Put& put) {
  const std::int64_t last = row.map().box_shape[2] - 1;
  const auto first = static_cast<std::int64_t>(row.base_x());
  const bool forward = row.step_x() > 0.0F;
  const std::int64_t end = forward ? first + width - 1 : first - (width - 1);
  const bool inside = std::min(first, end) >= 0 && std::max(first, end) <= last;
  if (inside && forward) {
    for (std::int32_t x = 0; x < width; ++x)
      out[x] = put(line[first + x]);
  } else if (inside) {
    for (std::int32_t x = 0; x < width; ++x)
      out[x] = put(line[first - x]);
  } else {
    for (std::int64_t x = 0; x < width; ++x)
      out[x] = put(line[std::clamp(forward ? first + x : first - x, std::int64_t{0}, last)]);
  }
}

template <class T>
const T* line_of(const Row& row, const Strides& strides) {
  return row.box<T>() + static_cast<std::int64_t>(row.voxel(0)) * strides.z +
         static_cast<std::int64_t>(row.voxel(1)) * strides.y;
}

template <class T>
void linear_row(const ResampleTask& task, const Row& row, std::int64_t sample, std::int64_t at) {
  const DF df;
  const PatchMap& map = row.map();
  const Strides strides(map);
  const std::int32_t width = task.patch[2];
  const std::int64_t voxels = patch_voxels(task);
  float* to = row_out<float>(task, sample, at);
  const float* values = task.values + sample * task.channels * 2;
  const T* box = row.box<T>();
  if (row.copies()) {
    const T* line = line_of<T>(row, strides);
    for (std::int64_t c = 0; c < task.channels; ++c) {
      copy_row(line + c * strides.channel, row, to + c * voxels, width,
               [scale = values[2 * c], offset = values[2 * c + 1]](T voxel) {
                 return static_cast<float>(voxel) * scale + offset;
               });
    }
    return;
  }
  for_vectors(width, [&](std::int32_t x, std::int32_t count) {
    const Corner corner = corner_at(row, strides, x);
    for (std::int64_t c = 0; c < task.channels; ++c) {
      const VF value = trilinear(box + c * strides.channel, corner);
      const VF scaled =
          hn::Add(hn::Mul(value, hn::Set(df, values[2 * c])), hn::Set(df, values[2 * c + 1]));
      store_some(scaled, to + c * voxels + x, count);
    }
  });
}

/// A voxel's nearest number along an axis, of halves the upper one.
HWY_INLINE VI nearest_of(VF place, std::int32_t extent) {
  const DF df;
  const DI di;
  const VF last = hn::Set(df, static_cast<float>(extent - 1));
  const VF inside = hn::Min(hn::Max(place, hn::Zero(df)), last);
  return hn::Min(hn::ConvertTo(di, hn::Add(inside, hn::Set(df, 0.5F))), hn::Set(di, extent - 1));
}

template <class T>
void nearest_row(const ResampleTask& task, const Row& row, std::int64_t sample, std::int64_t at) {
  const DI di;
  const PatchMap& map = row.map();
  const Strides strides(map);
  const std::int64_t voxels = patch_voxels(task);
  T* to = row_out<T>(task, sample, at);
  const T* box = row.box<T>();
  for_vectors(task.patch[2], [&](std::int32_t x, std::int32_t count) {
    const VI place = hn::Add(
        hn::Add(hn::Mul(nearest_of(row.place(0, x), map.box_shape[0]), hn::Set(di, strides.z)),
                hn::Mul(nearest_of(row.place(1, x), map.box_shape[1]), hn::Set(di, strides.y))),
        nearest_of(row.place(2, x), map.box_shape[2]));
    HWY_ALIGN std::int32_t places[hn::MaxLanes(DF())];
    hn::Store(place, di, places);
    for (std::int64_t c = 0; c < task.channels; ++c)
      for (std::int32_t i = 0; i < count; ++i)
        to[c * voxels + x + i] = box[c * strides.channel + places[i]];
  });
}

template <class T>
void copy_labels(const ResampleTask& task, const Row& row, std::int64_t sample, std::int64_t at) {
  const Strides strides(row.map());
  const std::int64_t voxels = patch_voxels(task);
  T* to = row_out<T>(task, sample, at);
  const T* line = line_of<T>(row, strides);
  for (std::int64_t c = 0; c < task.channels; ++c) {
    copy_row(line + c * strides.channel, row, to + c * voxels, task.patch[2],
             [](T label) { return label; });
  }
}

/// A row without a sample.
template <class Out>
void clear_row(const ResampleTask& task, std::int64_t sample, std::int64_t at) {
  const std::int64_t voxels = patch_voxels(task);
  Out* to = row_out<Out>(task, sample, at);
  for (std::int64_t c = 0; c < task.channels; ++c)
    std::fill_n(to + c * voxels, task.patch[2], Out{});
}

template <class T>
void rows_of(const ResampleTask& task, std::int64_t first, std::int64_t last) {
  const std::int64_t of_sample = static_cast<std::int64_t>(task.patch[0]) * task.patch[1];
  Row row(task);
  for (std::int64_t number = first; number < last; ++number) {
    const std::int64_t sample = number / of_sample;
    const std::int64_t at = number - sample * of_sample;
    const PatchMap& map = task.maps[sample];
    if (map.box_shape[0] < 1 || !std::equal(map.patch, map.patch + 3, task.patch)) {
      task.how == Resampling::linear ? clear_row<float>(task, sample, at)
                                     : clear_row<T>(task, sample, at);
      continue;
    }
    row.begin(sample, static_cast<std::int32_t>(at / task.patch[1]),
              static_cast<std::int32_t>(at % task.patch[1]));
    if (task.how == Resampling::linear) {
      linear_row<T>(task, row, sample, at);
    } else if (row.copies()) {
      copy_labels<T>(task, row, sample, at);
    } else if (task.how == Resampling::nearest) {
      nearest_row<T>(task, row, sample, at);
    } else {
      one_hot_row<T>(task, row, sample, at);
    }
  }
}

void resample(const ResampleTask& task, std::int64_t first, std::int64_t last) {
  switch (task.stored) {
    case DType::uint8:
      return rows_of<std::uint8_t>(task, first, last);
    case DType::int16:
      return rows_of<std::int16_t>(task, first, last);
    case DType::uint16:
      return rows_of<std::uint16_t>(task, first, last);
    default:
      return rows_of<float>(task, first, last);
  }
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <headrace/engine/base/internal/vector_target.h>
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(resample);
}

bool resample_rows(const ResampleTask& task, std::int64_t first, std::int64_t last, int target) {
  HEADRACE_RUN(resample, task, first, last);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
