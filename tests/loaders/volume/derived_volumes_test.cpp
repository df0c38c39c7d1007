// Volumes made of volumes: medians, and other spacings.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/derived_volumes.h>

#include "made_volume.h"
#include "whole_volume.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

template <class T>
std::shared_ptr<const CachedVolume> cached(const VolumeInfo& info,
                                           const typename MadeVolume<T>::Voxel& voxel) {
  return std::make_shared<const CachedVolume>(std::make_shared<const MadeVolume<T>>(info, voxel),
                                              std::make_shared<BlockCache>(1 << 22));
}

std::int64_t noisy(const VolumeIndex& at) {
  return (at[0] * 31 + at[1] * at[1] * 13 + at[2] * 57 + at[3] * at[3] * at[3] * 7 +
          at[2] * at[3]) %
         251;
}

template <class T>
std::vector<T> voxels(const Volume& volume) {
  const std::vector<std::byte> bytes = whole_volume(volume);
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

template <class T>
void check_medians(const VolumeInfo& info) {
  const auto value = [](const VolumeIndex& at) { return static_cast<T>(noisy(at)); };
  const auto found = voxels<T>(*median_of(cached<T>(info, value)));
  std::size_t i = 0;
  for (std::int64_t c = 0; c < info.shape[0]; ++c)
    for (std::int64_t z = 0; z < info.shape[1]; ++z)
      for (std::int64_t y = 0; y < info.shape[2]; ++y)
        for (std::int64_t x = 0; x < info.shape[3]; ++x, ++i) {
          std::array<T, 27> around{};
          for (int k = 0; k < 27; ++k) {
            VolumeIndex at{c, z + k / 9 - 1, y + k / 3 % 3 - 1, x + k % 3 - 1};
            for (std::size_t axis = 1; axis < 4; ++axis)
              at[axis] = std::clamp<std::int64_t>(at[axis], 0, info.shape[axis] - 1);
            around[static_cast<std::size_t>(k)] = value(at);
          }
          std::nth_element(around.begin(), around.begin() + 13, around.end());
          REQUIRE(found[i] == around[13]);
        }
}

}  // namespace

TEST_CASE("A median is the middle of the 27 voxels around, across blocks and at edges") {
  for (const VolumeIndex& shape :
       {VolumeIndex{2, 5, 7, 70}, VolumeIndex{1, 1, 1, 1}, VolumeIndex{1, 3, 9, 131}}) {
    const VolumeInfo info{.shape = shape, .block = {1, 4, 4, 66}};
    check_medians<std::uint8_t>(info);
    check_medians<std::int16_t>(info);
    check_medians<float>(info);
  }
}

TEST_CASE("A volume of the same spacing stays as it is") {
  const VolumeInfo info{.shape = {2, 5, 66, 7}, .block = {1, 4, 4, 4}, .spacing = {2.0, 0.5, 1.0}};
  const auto volume = cached<std::int16_t>(
      info, [](const VolumeIndex& at) { return static_cast<std::int16_t>(noisy(at)); });
  const auto same = resampled(volume, info.spacing, GridSampling::linear);
  CHECK(same->info().shape == info.shape);
  CHECK(same->info().affine == info.affine);
  CHECK(voxels<std::int16_t>(*same) == voxels<std::int16_t>(volume->volume()));
  CHECK(voxels<std::int16_t>(*resampled(volume, info.spacing, GridSampling::one_hot)) ==
        voxels<std::int16_t>(volume->volume()));
}

TEST_CASE("A ramp stays a ramp on any grid, and the affine tells where voxels lie") {
  VolumeInfo info{.shape = {1, 20, 30, 40}, .block = {1, 8, 8, 8}, .spacing = {2.0, 1.0, 0.5}};
  info.affine = {0.5, 0, 0, 3, 0, 1, 0, -2, 0, 0, 2, 7};
  const auto volume = cached<float>(info, [](const VolumeIndex& at) {
    return static_cast<float>(100.0 * static_cast<double>(at[1]) +
                              10.0 * static_cast<double>(at[2]) + static_cast<double>(at[3]));
  });
  const auto other = resampled(volume, {1.0, 1.5, 0.4}, GridSampling::linear);
  const VolumeInfo& to = other->info();
  CHECK(to.shape == VolumeIndex{1, 40, 20, 50});
  CHECK(to.spacing[0] == doctest::Approx(1.0));
  const auto found = voxels<float>(*other);
  for (std::int64_t z = 2; z < 38; z += 5)
    for (std::int64_t y = 1; y < 19; y += 3)
      for (std::int64_t x = 1; x < 49; x += 7) {
        // Through millimetres to the old grid.
        const double old_x = (to.affine[0] * static_cast<double>(x) + to.affine[3] - 3.0) / 0.5;
        const double old_y = (to.affine[5] * static_cast<double>(y) + to.affine[7] + 2.0) / 1.0;
        const double old_z = (to.affine[10] * static_cast<double>(z) + to.affine[11] - 7.0) / 2.0;
        const float value = found[static_cast<std::size_t>((z * 20 + y) * 50 + x)];
        REQUIRE(value == doctest::Approx(100.0 * old_z + 10.0 * old_y + old_x).epsilon(1e-5));
      }
}

TEST_CASE("Labels of another grid stay labels, and floats are no labels") {
  const VolumeInfo info{.shape = {1, 9, 10, 11}, .block = {1, 4, 4, 4}};
  const auto labels = cached<std::uint8_t>(info, [](const VolumeIndex& at) {
    return static_cast<std::uint8_t>(at[3] < 5 ? 0 : at[2] < 6 ? 4 : 200);
  });
  const auto finer =
      voxels<std::uint8_t>(*resampled(labels, {0.4, 0.7, 0.3}, GridSampling::one_hot));
  for (const std::uint8_t label : finer)
    REQUIRE((label == 0 || label == 4 || label == 200));
  CHECK(std::count(finer.begin(), finer.end(), 200) > 0);
  const auto floats = cached<float>(info, [](const VolumeIndex&) { return 1.0F; });
  CHECK_THROWS_AS(resampled(floats, {1, 1, 1}, GridSampling::one_hot), ConfigError);
  CHECK_THROWS_AS(resampled(labels, {0, 1, 1}, GridSampling::linear), ConfigError);
  CHECK_THROWS_AS(resampled(labels, {1e-9, 1, 1}, GridSampling::linear), ConfigError);
}

TEST_CASE("What is made of a volume is not kept in that one's cache") {
  const VolumeInfo info{.shape = {1, 9, 10, 11}, .block = {1, 4, 4, 4}};
  const auto labels =
      cached<std::uint8_t>(info, [](const VolumeIndex&) { return std::uint8_t{1}; });
  const auto own = std::make_shared<BlockCache>(1 << 20);
  const std::shared_ptr<BlockCache> same(labels, &labels->cache());
  CHECK_THROWS_WITH_AS(CachedVolume(median_of(labels), same),
                       doctest::Contains("a cache of its own"), ConfigError);
  const auto first = std::make_shared<const CachedVolume>(median_of(labels), own);
  CHECK_THROWS_AS(CachedVolume(resampled(first, {2, 2, 2}, GridSampling::linear), same),
                  ConfigError);
  CHECK_NOTHROW(CachedVolume(resampled(first, {2, 2, 2}, GridSampling::linear),
                             std::make_shared<BlockCache>(1 << 20)));
}

TEST_CASE("Blocks of a coarse grid are as small as what they are made of allows") {
  const VolumeInfo info{.shape = {1, 4000, 4000, 4000}, .block = {1, 8, 8, 8}};
  const auto volume = cached<std::uint8_t>(
      info, [](const VolumeIndex& at) { return static_cast<std::uint8_t>(at[3] / 16); });
  const auto coarse = resampled(volume, {32, 32, 32}, GridSampling::linear);
  CHECK(coarse->info().shape == VolumeIndex{1, 125, 125, 125});
  CHECK(coarse->working_bytes() < (std::size_t{1} << 28));
  CHECK(coarse->info().block[3] < 64);
  CHECK_THROWS_WITH_AS(resampled(volume, {1000, 1000, 1000}, GridSampling::linear),
                       doctest::Contains("take a smaller spacing"), ConfigError);
}

}  // namespace headrace::test
