// The fused kernel against its twin on the host; needs a GPU.
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include <headrace/augment/detail/normalize_task.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/pixels.h>
#include <headrace/tests/support/device_bytes.h>
#include <headrace/tests/support/skip.h>

using namespace headrace;
using test::device_present;
using test::DeviceBytes;

namespace {

struct Case {
  int pictures;
  int height;
  int width;
  int channels;
  std::size_t shift = 0;  ///< of the input's address, so that it is not aligned
};

detail::NormalizeTask task_of(const Case& one, DType dtype, bool first) {
  detail::NormalizeTask task{.dtype = dtype,
                             .channels_first = first,
                             .pictures = one.pictures,
                             .pixels = std::int64_t{one.height} * one.width,
                             .width = one.width,
                             .channels = one.channels};
  for (int c = 0; c < one.channels; ++c) {
    task.factor[c] = 0.01712475F + 0.0013F * static_cast<float>(c);
    task.offset[c] = -2.117904F + 0.27F * static_cast<float>(c);
  }
  return task;
}

/// Whether the device's bytes are the host's, without and with flips and levels.
bool agree(const Case& one, DType dtype, bool first, bool flips, bool levels) {
  const test::Pixels from = test::noise(one.width, one.height * one.pictures, one.channels, 17);
  test::Pixels flip;
  std::vector<float> level;
  for (int p = 0; p < one.pictures; ++p) {
    flip.push_back(static_cast<std::uint8_t>(p % 3 == 1));
    level.insert(level.end(),
                 {0.5F + 0.1F * static_cast<float>(p % 7), static_cast<float>(p % 5) - 2.5F});
  }
  const std::size_t bytes = from.size() * size_of(dtype);
  std::vector<std::byte> wanted(bytes);
  detail::NormalizeTask task = task_of(one, dtype, first);
  task.from = from.data();
  task.to = wanted.data();
  if (flips) task.flips = flip.data();
  if (levels) task.levels = level.data();
  detail::normalize_on_host(task);

  const DeviceBytes source(from.data(), from.size(), one.shift);
  const DeviceBytes marks(flip.data(), flip.size());
  const DeviceBytes gains(level.data(), level.size() * sizeof(float));
  const DeviceBytes result(nullptr, bytes);
  task.from = reinterpret_cast<const std::uint8_t*>(source.data());
  task.to = result.data();
  if (flips) task.flips = reinterpret_cast<const std::uint8_t*>(marks.data());
  if (levels) task.levels = reinterpret_cast<const float*>(gains.data());
  detail::launch(detail::normalize_kernel, &task, Device::cuda(0), {});
  return result.read() == wanted;
}

}  // namespace

TEST_CASE("the device's values are the host's, bit for bit") {
  if (!device_present()) return test::skip("needs a GPU");
  const Case cases[] = {{1, 1, 1, 3},      {3, 224, 224, 3}, {5, 32, 40, 3}, {2, 7, 16, 3},
                        {4, 30, 31, 3},    {3, 17, 8, 1},    {2, 9, 24, 4},  {2, 5, 6, 6},
                        {3, 16, 16, 3, 4}, {70, 8, 8, 3},    {2, 3, 12, 3},  {1, 299, 299, 3}};
  for (const Case& one : cases) {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      for (const bool first : {true, false}) {
        for (const bool flips : {false, true}) {
          for (const bool levels : {false, true}) {
            CAPTURE(one.height);
            CAPTURE(one.width);
            CAPTURE(one.channels);
            CAPTURE(name_of(dtype));
            CAPTURE(first);
            CAPTURE(flips);
            CAPTURE(levels);
            REQUIRE(agree(one, dtype, first, flips, levels));
          }
        }
      }
    }
  }
}

TEST_CASE("without a device, or without device code, normalising on one says so") {
  const std::uint8_t level = 1;
  float value = 0;
  detail::NormalizeTask task{
      .from = &level, .to = &value, .pictures = 1, .pixels = 1, .width = 1, .channels = 1};
  if (device_present()) return test::skip("needs a machine without a GPU");
  CHECK_THROWS_AS(detail::launch(detail::normalize_kernel, &task, Device::cuda(0), {}),
                  DeviceError);
}
