#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <headrace/augment/spectrogram/detail/spec_masks.h>
#include <headrace/augment/spectrogram/detail/spec_task.h>
#include <headrace/tests/augment/waves.h>
#include <headrace/tests/support/device_bytes.h>
#include <headrace/tests/support/skip.h>

using namespace headrace;

namespace {

/// Runs a task that has host pointers on the device, over the same input.
std::vector<std::byte> on_device(detail::SpecTask task, std::size_t bytes, std::int64_t mask_rows) {
  const std::size_t mask_bytes =
      static_cast<std::size_t>(mask_rows * task.mask_values) * sizeof(std::int32_t);
  const test::DeviceBytes from(task.from, bytes);
  const test::DeviceBytes to(nullptr, bytes);
  const test::DeviceBytes masks(task.masks, mask_bytes);
  const bool in_place = task.from == task.to;
  task.to = in_place ? from.data() : to.data();
  task.from = from.data();
  task.masks = reinterpret_cast<const std::int32_t*>(masks.data());
  detail::launch(detail::spec_augment_kernel, &task, Device::cuda(0), {});
  return in_place ? from.read() : to.read();
}

}  // namespace

TEST_CASE("the device gives the host's bits, masked and warped, in place and not") {
  if (!test::device_present()) return test::skip("SpecAugment on a device needs a GPU");
  constexpr std::int64_t planes = 12;
  constexpr std::int64_t bins = 20;
  constexpr std::int64_t frames = 130;
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const bool frequency_first : {true, false}) {
      for (const std::int64_t warp : {0, 15}) {
        SpecAugment how = SpecAugment::policy("LD");
        how.time_warp = warp;
        std::vector<std::int32_t> masks(
            static_cast<std::size_t>(planes * detail::SpecMasks::values(how)));
        const auto row = static_cast<std::size_t>(detail::SpecMasks::values(how));
        for (std::size_t plane = 0; plane < planes; ++plane) {
          Random random({.seed = 4, .position = static_cast<std::int64_t>(plane)});
          detail::draw_spec_masks(how, bins, frames - 30 * static_cast<std::int64_t>(plane % 2),
                                  random, std::span(masks).subspan(plane * row, row));
        }
        const std::vector<double> noise = test::noise(planes * bins * frames, 6);
        const std::size_t bytes = noise.size() * size_of(dtype);
        std::vector<std::byte> input(bytes);
        for (std::size_t i = 0; i < noise.size(); ++i) {
          const auto single = static_cast<float>(noise[i]);
          const auto half = static_cast<std::uint16_t>(0x3c00 + static_cast<int>(noise[i] * 900));
          std::memcpy(input.data() + i * size_of(dtype),
                      dtype == DType::float32 ? static_cast<const void*>(&single) : &half,
                      size_of(dtype));
        }
        const float fill = -3.5F;
        std::vector<std::byte> wanted = input;
        detail::SpecTask task{.from = wanted.data(),
                              .to = wanted.data(),
                              .dtype = dtype,
                              .frequency_first = frequency_first,
                              .planes = planes,
                              .bins = bins,
                              .frames = frames,
                              .masks = masks.data(),
                              .mask_values = detail::SpecMasks::values(how),
                              .frequency_masks = how.frequency_masks,
                              .time_masks = how.time_masks,
                              .warps = warp > 0,
                              .fill = &fill};
        if (warp > 0) task.from = input.data();
        detail::SpecTask device_task = task;
        device_task.from = input.data();
        if (warp == 0) device_task.to = input.data();
        detail::spec_augment_on_host(task);
        CHECK(on_device(device_task, bytes, planes) == wanted);
        CHECK(wanted != input);
      }
    }
  }
}
