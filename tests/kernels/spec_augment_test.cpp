// The kernels of SpecAugment against their twin on the host and against plain arithmetic.
#include <headrace/augment/spectrogram/detail/spec_masks.h>
#include <headrace/augment/spectrogram/detail/spec_task.h>
#include <headrace/tests/augment/waves.h>

#include "kernel_device.h"
#include "plain_floats.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN(HEADRACE_KERNEL_SUITE);

namespace headrace::test {
namespace {

/// Planes, their masks as rows of SpecMasks, and a fill.
struct Planes {
  std::int64_t planes = 1;
  std::int64_t bins = 1;
  std::int64_t frames = 1;
  std::int64_t planes_per_row = 1;
  int frequency_masks = 0;
  int time_masks = 0;
  std::vector<std::int32_t> masks{};
  std::vector<float> fill{-3.5F};
  bool warps = false;
};

std::vector<std::byte> input_of(const Planes& planes, DType dtype) {
  const auto noise =
      test::noise(static_cast<std::size_t>(planes.planes * planes.bins * planes.frames), 6);
  std::vector<std::byte> input(noise.size() * size_of(dtype));
  for (std::size_t i = 0; i < noise.size(); ++i)
    write_plain(static_cast<float>(noise[i]), dtype, input.data() + i * size_of(dtype));
  return input;
}

bool covered(const std::int32_t* masks, int count, std::int64_t cell, std::int64_t cells) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = std::clamp<std::int64_t>(masks[2 * i], 0, cells);
    if (cell >= begin && cell < begin + masks[2 * i + 1]) return true;
  }
  return false;
}

/// Cell by cell, by the definition.
std::vector<std::byte> by_definition(const Planes& p, const detail::SpecTask& task,
                                     const std::vector<std::byte>& input) {
  std::vector<std::byte> out = input;
  const std::size_t size = size_of(task.dtype);
  for (std::int64_t plane = 0; plane < p.planes; ++plane) {
    const std::int32_t* masks = p.masks.data() + plane / p.planes_per_row * task.mask_values;
    const std::int64_t frames = std::clamp<std::int64_t>(masks[0], 0, p.frames);
    const auto place = [&](std::int64_t bin, std::int64_t frame) {
      return static_cast<std::size_t>(plane * p.bins * p.frames + (task.frequency_first
                                                                       ? bin * p.frames + frame
                                                                       : frame * p.bins + bin)) *
             size;
    };
    for (std::int64_t bin = 0; bin < p.bins; ++bin) {
      for (std::int64_t frame = 0; frame < frames; ++frame) {
        std::byte* to = out.data() + place(bin, frame);
        if (covered(masks + 3, p.frequency_masks, bin, p.bins) ||
            covered(masks + 3 + std::ptrdiff_t{2} * p.frequency_masks, p.time_masks, frame,
                    frames)) {
          write_plain(p.fill[p.fill.size() > 1 ? static_cast<std::size_t>(bin) : 0], task.dtype,
                      to);
        } else if (p.warps && masks[1] > 0 && frames >= 2) {
          const std::int64_t point = std::clamp<std::int64_t>(masks[1], 1, frames - 1);
          const std::int64_t moved = std::clamp<std::int64_t>(masks[2], 1, frames - 1);
          const detail::WarpTap tap = detail::warp_tap(point, moved, frames, frame);
          const float here = read_plain(input.data() + place(bin, tap.first), task.dtype);
          if (tap.share == 0.0F || tap.first + 1 >= frames) {
            write_plain(here, task.dtype, to);
            continue;
          }
          volatile const float rise =
              read_plain(input.data() + place(bin, tap.first + 1), task.dtype) - here;
          volatile const float part = tap.share * rise;
          write_plain(here + part, task.dtype, to);
        }
      }
    }
  }
  return out;
}

void check(const Planes& p, DType dtype, bool frequency_first, bool in_place) {
  CAPTURE(p.planes);
  CAPTURE(p.bins);
  CAPTURE(p.frames);
  CAPTURE(name_of(dtype));
  CAPTURE(frequency_first);
  CAPTURE(in_place);
  CAPTURE(p.warps);
  const std::vector<std::byte> input = input_of(p, dtype);
  std::vector<std::byte> twin = input;
  detail::SpecTask task{.from = in_place ? twin.data() : input.data(),
                        .to = twin.data(),
                        .dtype = dtype,
                        .frequency_first = frequency_first,
                        .planes = p.planes,
                        .bins = p.bins,
                        .frames = p.frames,
                        .masks = p.masks.data(),
                        .mask_values = 3 + 2 * std::int64_t{p.frequency_masks + p.time_masks},
                        .planes_per_row = p.planes_per_row,
                        .frequency_masks = p.frequency_masks,
                        .time_masks = p.time_masks,
                        .warps = p.warps,
                        .fill_per_bin = p.fill.size() > 1};
  task.fill = p.fill.data();
  detail::spec_augment_on_host(task);
  const std::vector<std::byte> wanted = by_definition(p, task, input);
  REQUIRE(twin == wanted);

  const DeviceBytes masks(p.masks.data(), p.masks.size() * sizeof(std::int32_t));
  task.masks = reinterpret_cast<const std::int32_t*>(masks.data());
  in_each_order([&] {
    // The fill is the host's and read before the launch returns; cells lie at odd addresses.
    std::vector<float> fill = p.fill;
    const DeviceBytes from(input.data(), input.size(), size_of(dtype));
    const DeviceBytes to(nullptr, input.size(), size_of(dtype));
    task.from = from.data();
    task.to = in_place ? from.data() : to.data();
    task.fill = fill.data();
    const std::int64_t before = kernel_launches();
    detail::launch(detail::spec_augment_kernel, &task, Device::cuda(0), {});
    std::fill(fill.begin(), fill.end(), 99.0F);
    REQUIRE((in_place ? from : to).read() == wanted);
    CHECK(kernel_launches() <= before + 1);
  });
}

void check_all(const Planes& p) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const bool frequency_first : {true, false}) {
      check(p, dtype, frequency_first, false);
      if (!p.warps) check(p, dtype, frequency_first, true);
    }
  }
}

/// Masks as they are drawn, every second plane shorter than the rest.
Planes drawn(std::int64_t bins, std::int64_t frames, std::int64_t warp, std::int64_t shared = 1) {
  SpecAugment how = SpecAugment::policy("LD");
  how.time_warp = warp;
  Planes p{.planes = 6,
           .bins = bins,
           .frames = frames,
           .planes_per_row = shared,
           .frequency_masks = how.frequency_masks,
           .time_masks = how.time_masks,
           .warps = warp > 0};
  const auto row = static_cast<std::size_t>(detail::SpecMasks::values(how));
  p.masks.resize(static_cast<std::size_t>(p.planes / shared) * row);
  for (std::size_t i = 0; i * row < p.masks.size(); ++i) {
    Random random({.seed = 4, .position = static_cast<std::int64_t>(i)});
    const std::int64_t valid = i % 2 == 0 ? frames : frames * 3 / 4;
    detail::draw_spec_masks(how, bins, valid, random, std::span(p.masks).subspan(i * row, row));
  }
  return p;
}

}  // namespace

TEST_CASE("Drawn masks, in place and not, warped and not, give the host's bits") {
  if (!device_present()) return skip("kernels need a GPU");
  for (const std::int64_t warp : {0, 15}) {
    check_all(drawn(20, 130, warp));
    check_all(drawn(7, 301, warp, 3));
    check_all(drawn(81, 64, warp, 2));
  }
}

TEST_CASE("Masks that overlap, touch, are empty or reach beyond give the host's bits") {
  if (!device_present()) return skip("kernels need a GPU");
  constexpr std::int32_t many = 1 << 30;
  // frames, warp; two masks of bins; three of frames
  const std::vector<std::int32_t> rows = {
      40, 0, 0, 3, 4,    5,  6,  10, 5,    12, 9, 21, 1,     // overlap and touch
      40, 0, 0, 3, 0,    9,  -4, 10, 0,    0,  0, 39, 0,     // empty
      40, 0, 0, 8, 9,    -3, 5,  38, 9,    44, 3, -7, 9,     // beyond both ends
      25, 0, 0, 0, 1,    9,  1,  20, 30,   0,  1, 30, 5,     // shorter than the rest
      0,  0, 0, 1, 3,    0,  10, 0,  40,   3,  3, 5,  5,     // no frames at all
      99, 0, 0, 0, many, 2,  1,  0,  many, 4,  4, 1,  many,  // everything
  };
  Planes p{.planes = 6, .bins = 10, .frames = 40, .frequency_masks = 2, .time_masks = 3};
  p.masks = rows;
  check_all(p);
  p.fill.clear();
  for (std::int64_t bin = 0; bin < p.bins; ++bin)
    p.fill.push_back(0.25F * static_cast<float>(bin) - 1.1F);
  check_all(p);
}

TEST_CASE("Warps at both ends, of few frames, and none beside others give the host's bits") {
  if (!device_present()) return skip("kernels need a GPU");
  Planes p{.planes = 6, .bins = 5, .frames = 40, .time_masks = 1, .warps = true};
  p.masks = {40, 1, 38, 3, 2, 40, 39, 1, 0, 0, 2,  1,  1,  0,  0,
             1,  1, 1,  0, 0, 40, 0,  0, 7, 1, 30, 99, 99, 29, 5};
  check_all(p);
}

TEST_CASE("Planes of one cell, one bin or one frame, and no planes, are planes like others") {
  if (!device_present()) return skip("kernels need a GPU");
  for (const auto& [bins, frames] : {std::pair{1, 1}, {1, 300}, {300, 1}, {2, 2}}) {
    Planes p{.planes = 3, .bins = bins, .frames = frames, .frequency_masks = 1, .time_masks = 1};
    for (int plane = 0; plane < 3; ++plane)
      p.masks.insert(p.masks.end(), {frames, 0, 0, 0, plane, frames / 2, 1});
    check_all(p);
  }
  check_all({.planes = 0, .bins = 3, .frames = 4, .time_masks = 1});
}

TEST_CASE("Cells beyond 2^31 are masked at the right place") {
  if (!device_present()) return skip("kernels need a GPU");
  constexpr std::int64_t planes = 70'000;
  constexpr std::int64_t bins = 64;
  constexpr std::int64_t frames = 500;
  const VastBytes cells(planes * bins * frames * 2);
  if (cells.data() == nullptr) return skip("needs 5 GB of the device");
  std::vector<std::int32_t> rows(planes * 5);
  for (std::size_t plane = 0; plane < planes; ++plane)
    rows[5 * plane] = frames;
  rows[rows.size() - 2] = 498;  // the last plane's last frames
  rows[rows.size() - 1] = 2;
  const DeviceBytes masks(rows.data(), rows.size() * sizeof(std::int32_t));
  const float fill = 1.0F;
  const detail::SpecTask task{.from = cells.data(),
                              .to = cells.data(),
                              .dtype = DType::bfloat16,
                              .planes = planes,
                              .bins = bins,
                              .frames = frames,
                              .masks = reinterpret_cast<const std::int32_t*>(masks.data()),
                              .mask_values = 5,
                              .time_masks = 1,
                              .fill = &fill};
  run_kernel(detail::spec_augment_kernel, &task, 2);
  std::vector<std::byte> wanted(6, std::byte{0});
  write_plain(fill, DType::bfloat16, wanted.data() + 2);
  write_plain(fill, DType::bfloat16, wanted.data() + 4);
  CHECK(bytes_on_device(cells.data() + planes * bins * frames * 2 - 6, 6) == wanted);
}

}  // namespace headrace::test

TEST_SUITE_END();
