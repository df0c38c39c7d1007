#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/derived_volumes.h>
#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr int around = 27;
constexpr int kept = around / 2 + 2;  // as many as can still be the median
constexpr std::size_t width = 64;     // voxels that go together

/// Of some voxels beside each other, one of the values around each.
template <class T>
using Lane = std::array<T, width>;

template <class T>
void order(Lane<T>& low, Lane<T>& high) {
  for (std::size_t i = 0; i < width; ++i) {
    const T a = low[i];
    const T b = high[i];
    low[i] = b < a ? b : a;
    high[i] = b < a ? a : b;
  }
}

/// Medians of 27 by forgetting: of 15 values neither the least nor the largest can be the median;
/// they go, and another value comes, until all have come.
template <class T>
void medians(const std::array<const T*, around>& from, T* to, std::size_t count) {
  std::array<Lane<T>, kept> lanes{};
  const auto load = [&](Lane<T>& lane, int number) {
    std::copy_n(from[static_cast<std::size_t>(number)], count, lane.begin());
  };
  for (int i = 0; i < kept; ++i)
    load(lanes[static_cast<std::size_t>(i)], i);
  int first = 0;
  int last = kept - 1;
  int next = kept;
  for (;;) {
    const auto lane = [&](int i) -> Lane<T>& { return lanes[static_cast<std::size_t>(i)]; };
    for (int i = first; i < last; ++i)  // the largest to the end
      order(lane(i), lane(i + 1));
    for (int i = last - 1; i > first; --i)  // the least to the beginning
      order(lane(i - 1), lane(i));
    if (next == around && last - first == 2) {
      std::copy_n(lane(first + 1).begin(), count, to);
      return;
    }
    ++first;
    if (next < around) {
      load(lane(last), next++);
    } else {
      --last;
    }
  }
}

class MedianVolume final : public Volume {
 public:
  explicit MedianVolume(std::shared_ptr<const CachedVolume> volume)
      : Volume(volume->info(), volume->volume().name()), volume_(std::move(volume)) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    VolumeBox inside;
    VolumeBox wide;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      inside.begin[axis] = place[axis] * info().block[axis];
      inside.end[axis] = std::min(inside.begin[axis] + info().block[axis], info().shape[axis]);
      const std::int64_t margin = axis == 0 ? 0 : 1;
      wide.begin[axis] = inside.begin[axis] - margin;
      wide.end[axis] = inside.end[axis] + margin;
    }
    const VolumeIndex shape = wide.shape();
    const std::size_t element = size_of(info().dtype);
    std::vector<std::byte> box(static_cast<std::size_t>(voxels_of(shape)) * element);
    volume_->read_box(wide, BoxMemory::dense(box.data(), shape, element),
                      {.rule = Outside::Rule::edge});
    detail::visit_dtype(info().dtype, [&](auto kind) {
      using T = decltype(kind);
      if constexpr (std::is_arithmetic_v<T>)
        filter(reinterpret_cast<const T*>(box.data()), shape, reinterpret_cast<T*>(out.data()));
    });
    return 0;
  }

  bool reads_through(const BlockCache& cache) const noexcept override {
    return &volume_->cache() == &cache || volume_->volume().reads_through(cache);
  }

  std::size_t working_bytes() const override {
    VolumeIndex wide = info().block;
    for (std::size_t axis = 1; axis < 4; ++axis)
      wide[axis] += 2;
    return static_cast<std::size_t>(voxels_of(wide)) * size_of(info().dtype) +
           volume_->volume().working_bytes();
  }

 private:
  template <class T>
  void filter(const T* box, const VolumeIndex& shape, T* out) const {
    const VolumeIndex& block = info().block;
    for (std::int64_t c = 0; c < shape[0]; ++c)
      for (std::int64_t z = 0; z < shape[1] - 2; ++z)
        for (std::int64_t y = 0; y < shape[2] - 2; ++y)
          filter_row(box + ((c * shape[1] + z) * shape[2] + y) * shape[3], shape,
                     out + ((c * block[1] + z) * block[2] + y) * block[3]);
  }

  template <class T>
  static void filter_row(const T* corner, const VolumeIndex& shape, T* out) {
    const auto voxels = static_cast<std::size_t>(shape[3] - 2);
    for (std::size_t x = 0; x < voxels; x += width) {
      std::array<const T*, around> from{};
      for (int k = 0; k < around; ++k) {
        from[static_cast<std::size_t>(k)] = corner + (k / 9 * shape[2] + k / 3 % 3) * shape[3] +
                                            k % 3 + static_cast<std::int64_t>(x);
      }
      medians(from, out + x, std::min(width, voxels - x));
    }
  }

  std::shared_ptr<const CachedVolume> volume_;
};

}  // namespace

std::shared_ptr<const Volume> median_of(std::shared_ptr<const CachedVolume> volume) {
  const DType dtype = volume->info().dtype;
  if (dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::boolean) {
    throw ConfigError("[median] " + volume->volume().name() +
                      ": voxels must be integers, float32 or float64, got " +
                      std::string(name_of(dtype)) + "; convert them first");
  }
  return std::make_shared<const MedianVolume>(std::move(volume));
}

}  // namespace headrace::inline v1
