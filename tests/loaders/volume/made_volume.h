#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/volume.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headrace::test {

/// A volume whose stored voxels are a function of their place; of one that is no voxel of it the
/// bytes are 0xee.
template <class T>
class MadeVolume final : public Volume {
 public:
  using Voxel = std::function<T(const VolumeIndex&)>;

  MadeVolume(const VolumeInfo& info, Voxel voxel, std::string name = "made")
      : Volume(with_dtype(info), std::move(name)), voxel_(std::move(voxel)) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    ++reads;
    if (on_read) on_read(place);
    const VolumeIndex& block = info().block;
    std::memset(out.data(), 0xee, out.size());
    std::size_t i = 0;
    for (std::int64_t c = 0; c < block[0]; ++c)
      for (std::int64_t z = 0; z < block[1]; ++z)
        for (std::int64_t y = 0; y < block[2]; ++y)
          for (std::int64_t x = 0; x < block[3]; ++x, ++i) {
            const VolumeIndex at{place[0] * block[0] + c, place[1] * block[1] + z,
                                 place[2] * block[2] + y, place[3] * block[3] + x};
            if (!holds(at)) continue;
            const T value = voxel_(at);
            std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
          }
    return out.size() / 2;
  }

  bool holds(const VolumeIndex& at) const {
    for (std::size_t axis = 0; axis < 4; ++axis)
      if (at[axis] < 0 || at[axis] >= info().shape[axis]) return false;
    return true;
  }
  T voxel(const VolumeIndex& at) const { return voxel_(at); }

  std::function<void(const VolumeIndex& place)> on_read{};  ///< may throw
  mutable std::atomic<int> reads{0};

 private:
  static VolumeInfo with_dtype(VolumeInfo info) {
    if (size_of(info.dtype) != sizeof(T) || info.dtype == DType::uint8) info.dtype = dtype_of<T>;
    return info;
  }

  Voxel voxel_;
};

/// Of extents that no block divides.
inline constexpr VolumeInfo odd_volume{.shape = {2, 7, 9, 11}, .block = {1, 3, 4, 5}};

/// A value that tells the places of a small volume apart.
template <class T>
T numbered(const VolumeIndex& at) {
  return static_cast<T>(1 + at[3] + 31 * at[2] + 31 * 29 * at[1] + 31 * 29 * 17 * at[0]);
}

}  // namespace headrace::test
