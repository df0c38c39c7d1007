// Normalising on a device that is not there. The kernel itself: tests/kernels.
#include <headrace/augment/detail/normalize_task.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/device_bytes.h>
#include <headrace/tests/support/skip.h>

#include <cstdint>

#include <doctest/doctest.h>

using namespace headrace;
using test::device_present;

TEST_CASE("without a device, or without device code, normalising on one says so") {
  const std::uint8_t level = 1;
  float value = 0;
  detail::NormalizeTask task{
      .from = &level, .to = &value, .pictures = 1, .pixels = 1, .width = 1, .channels = 1};
  if (device_present()) return test::skip("needs a machine without a GPU");
  CHECK_THROWS_AS(detail::launch(detail::normalize_kernel, &task, Device::cuda(0), {}),
                  DeviceError);
}
