// The kernel that resizes decoded pictures into a batch, against the CPU's resize: the same bytes.
#include <headrace/loaders/image/detail/device_picture.h>
#include <headrace/loaders/image/filter_taps.h>
#include <headrace/loaders/image/resize.h>
#include <headrace/loaders/image/resize_kernels.h>

#include "dice.h"
#include "kernel_device.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN(HEADRACE_KERNEL_SUITE);

namespace headrace::test {
namespace {

using headrace::detail::DevicePicture;
using headrace::detail::ResizePictures;

constexpr headrace::detail::Kernel resize_kernel{"test", "headrace_resize_pictures"};

/// Part of a picture's side, with fractions, and somewhat more that may be looked at.
ResizeAxis draw_axis(Dice& dice, int side, int out) {
  ResizeAxis axis{.out = out, .reversed = dice.one_in(2)};
  axis.length = 0.5 + dice.part() * (side - 0.5);
  axis.start = dice.part() * (side - axis.length);
  if (dice.one_in(4)) {
    axis.start = static_cast<int>(axis.start);
    axis.length = out;  // nothing is resized
    if (axis.start + axis.length > side) axis = {0, double(side), 0, side, out, axis.reversed};
  }
  axis.first = dice.between(0, static_cast<int>(axis.start));
  axis.last = dice.between(std::min(side, static_cast<int>(axis.start + axis.length) + 1), side);
  return axis;
}

struct PictureBatch {
  int height = 0;
  int width = 0;
  Resample resample = Resample::antialias;
  std::vector<DevicePicture> pictures{};
  std::vector<std::uint8_t> pixels{};
};

bool is_narrow(const PictureBatch& batch, const DevicePicture& picture) {
  using headrace::detail::most_kernel_taps;
  using headrace::detail::most_taps;
  return most_taps(picture.x, batch.resample) <= most_kernel_taps &&
         most_taps(picture.y, batch.resample) <= most_kernel_taps;
}

PictureBatch draw_batch(Dice& dice, int count) {
  PictureBatch batch{.height = dice.between(1, 40),
                     .width = dice.between(1, 70),
                     .resample = dice.one_in(3) ? Resample::bilinear : Resample::antialias};
  while (static_cast<int>(batch.pictures.size()) < count) {
    DevicePicture picture{.pixels = batch.pixels.size(),
                          .file_bytes = dice.one_in(5) ? 0U : 1U,
                          .width = dice.between(1, 200),
                          .height = dice.between(1, 150),
                          .transposed = dice.one_in(3) ? 1 : 0};
    const bool turned = picture.transposed != 0;
    picture.x = draw_axis(dice, picture.width, turned ? batch.height : batch.width);
    picture.y = draw_axis(dice, picture.height, turned ? batch.width : batch.height);
    if (!is_narrow(batch, picture)) continue;
    for (std::size_t i = 0; i < picture.bytes(); ++i)
      batch.pixels.push_back(static_cast<std::uint8_t>(dice.between(0, 255)));
    batch.pictures.push_back(picture);
  }
  return batch;
}

/// Rows of pictures that are not the device's stay 0x55.
std::vector<std::uint8_t> on_cpu(const PictureBatch& batch) {
  const std::size_t row = std::size_t{3} * static_cast<std::size_t>(batch.height * batch.width);
  std::vector<std::uint8_t> out(batch.pictures.size() * row, 0x55);
  for (std::size_t p = 0; p < batch.pictures.size(); ++p) {
    const DevicePicture& picture = batch.pictures[p];
    if (picture.file_bytes == 0) continue;
    // Pixels of four bytes, with what may be read behind a row.
    const std::size_t stride = static_cast<std::size_t>(picture.width) * 4 + 64;
    std::vector<std::uint8_t> wide(stride * static_cast<std::size_t>(picture.height));
    const std::uint8_t* from = batch.pixels.data() + picture.pixels;
    for (int y = 0; y < picture.height; ++y) {
      for (int x = 0; x < picture.width; ++x, from += 3)
        std::copy_n(from, 3, wide.data() + stride * static_cast<std::size_t>(y) + 4 * x);
    }
    std::vector<std::uint8_t> shown(row + 16);
    resize_to_rgb({wide.data(), stride, 0, 0}, picture.x, picture.y, batch.resample, shown.data());
    std::uint8_t* to = out.data() + p * row;
    for (int y = 0; y < picture.y.out; ++y) {
      for (int x = 0; x < picture.x.out; ++x) {
        const int place = picture.transposed != 0 ? x * batch.width + y : y * batch.width + x;
        std::copy_n(shown.data() + 3 * (y * picture.x.out + x), 3, to + 3 * place);
      }
    }
  }
  return out;
}

/// In every order of threads.
void check(const PictureBatch& batch) {
  const std::vector<std::uint8_t> wanted = on_cpu(batch);
  const DeviceBytes pictures(batch.pictures.data(), batch.pictures.size() * sizeof(DevicePicture));
  const DeviceBytes pixels(batch.pixels.data(), batch.pixels.size());
  in_each_order([&] {
    const std::vector<std::uint8_t> untouched(wanted.size(), 0x55);
    const DeviceBytes out(untouched.data(), untouched.size());
    const ResizePictures task{.pictures = reinterpret_cast<const DevicePicture*>(pictures.data()),
                              .count = static_cast<std::int64_t>(batch.pictures.size()),
                              .pixels = reinterpret_cast<const std::uint8_t*>(pixels.data()),
                              .out = reinterpret_cast<std::uint8_t*>(out.data()),
                              .height = batch.height,
                              .width = batch.width,
                              .resample = batch.resample};
    detail::launch(resize_kernel, &task, Device::cuda(0), {});
    const std::vector<std::byte> bytes = out.read();
    REQUIRE(std::equal(bytes.begin(), bytes.end(), wanted.begin(), wanted.end(),
                       [](std::byte a, std::uint8_t b) { return a == std::byte{b}; }));
  });
}

TEST_CASE("The device resizes to the CPU's bytes: any window, mirrored, turned, much or nothing") {
  if (!device_present()) return skip("kernels need a GPU");
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    check(draw_batch(dice, dice.between(1, 9)));
  }
}

TEST_CASE("A window in the last rows of the largest allowed filter is resized to the CPU's bytes") {
  if (!device_present()) return skip("kernels need a GPU");
  Dice dice(5);
  PictureBatch batch{.height = 9, .width = 33};
  DevicePicture picture{.file_bytes = 1, .width = 33 * 24, .height = 9 * 24};
  picture.x = {0, 33.0 * 24, 0, 33 * 24, 33, true};
  picture.y = {0, 9.0 * 24, 0, 9 * 24, 9, false};
  REQUIRE(headrace::detail::most_taps(picture.x, batch.resample) ==
          headrace::detail::most_kernel_taps);
  batch.pictures = {picture};
  batch.pixels.resize(picture.bytes());
  for (std::uint8_t& value : batch.pixels)
    value = static_cast<std::uint8_t>(dice.between(0, 255));
  check(batch);
}

}  // namespace
}  // namespace headrace::test

TEST_SUITE_END();
