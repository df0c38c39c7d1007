// What happens when nvJPEG, its device or its library will not play along.
#include <string>
#include <vector>

#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/detail/nvjpeg_library.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/nvjpeg_decoder.h>

#include "begin.h"
#include "decoding.h"

namespace headrace::test {
namespace {

const Device gpu = Device::cuda(0);
const DecodeImage small{.crop = ResizeTo{12, 10}, .prescale = false};

TEST_CASE("An image that nvJPEG refuses at any call comes from the CPU, the next from the device") {
  const Bytes file = photograph();
  const Pixels wanted = decoded(small, Device::cpu(), file);
  for (const char* call : {"nvjpegJpegStreamParseHeader", "nvjpegDecodeBatchedSupported",
                           "unsupported", "nvjpegDecodeBatched"}) {
    for (const int status : {1, 2, 3, 4, 6, 8, 9, 10}) {
      CAPTURE(call);
      CAPTURE(status);
      begin({.failing = call, .status = status, .from = 1, .times = 2});
      const DeviceDecodes before = device_decodes();
      on_a_thread([&] {
        for (int i = 0; i < 5; ++i)
          CHECK(decoded(small, gpu, file) == wanted);
      });
      CHECK(nvjpeg::calls().decodes == 3);
      CHECK(device_decodes().on_device - before.on_device == 3);
      CHECK(device_decodes().on_cpu - before.on_cpu == 2);
    }
  }
}

TEST_CASE("A decoder that failed is prepared anew, one that works is not") {
  begin({.failing = "nvjpegDecodeBatched", .status = 8, .from = 2});
  const Bytes file = photograph();
  on_a_thread([&] {
    for (int i = 0; i < 6; ++i)
      decoded(small, gpu, file);
  });
  CHECK(nvjpeg::calls().initialisations == 2);
}

TEST_CASE("What cannot be set up ends the run with the device's name, and leaves nothing") {
  const Bytes file = photograph();
  for (const char* call : {"nvjpegCreateEx", "nvjpegJpegStreamCreate", "nvjpegJpegStateCreate",
                           "nvjpegDecodeBatchedInitialize"}) {
    CAPTURE(call);
    begin({.failing = call, .status = 8, .times = 100});
    CHECK_THROWS_WITH_AS(on_a_thread([&] { decoded(small, gpu, file); }),
                         doctest::Contains("nvJPEG answers status 8"), DeviceError);
    CHECK(nvjpeg::calls().live_handles == 0);
    CHECK(nvjpeg::calls().live_states == 0);
    CHECK(nvjpeg::calls().live_headers == 0);
    CHECK(device::calls().live_streams == 0);
  }
}

TEST_CASE("Memory that a device has not got is no fault of the image") {
  begin({.failing = "nvjpegDecodeBatched", .status = 5});
  CHECK_THROWS_WITH_AS(on_a_thread([&] { decoded(small, gpu, photograph()); }),
                       doctest::Contains("use fewer threads, or decode on the CPU"), ResourceError);
}

TEST_CASE("A device that fails ends the run instead of leaving all work to the CPU") {
  begin({}, {.fail_copy = 1});
  on_a_thread([&] {
    const Bytes file = photograph();
    CHECK(decoded(small, gpu, file) == decoded(small, Device::cpu(), file));
    CHECK_THROWS_WITH_AS(decoded(small, gpu, file), doctest::Contains("the CUDA runtime answers"),
                         DeviceError);
  });
  begin({.failing = "nvjpegDecodeBatched", .status = 6, .from = 1, .times = 9}, {.fail_copy = 0});
  on_a_thread([&] {
    for (int i = 0; i < 3; ++i)
      CHECK_THROWS_AS(decoded(small, gpu, photograph()), DeviceError);
  });
}

TEST_CASE("JPEG engines are used where there are some, else nvJPEG chooses") {
  for (const bool engines : {true, false}) {
    begin({.engines = engines});
    on_a_thread([&] { decoded(small, gpu, photograph()); });
    CHECK(nvjpeg::calls().backend == (engines ? 3 : 0));
    CHECK(nvjpeg::calls().flags == (1 | 4 | 32));
    CHECK(nvjpeg::calls().decodes == 1);
  }
}

TEST_CASE("Threads share the handle of a device") {
  begin({}, {.devices = 3});
  const Bytes file = photograph();
  on_a_thread([&] {
    decoded(small, gpu, file);
    on_a_thread([&] { decoded(small, gpu, file); });
    CHECK(nvjpeg::calls().handles == 1);
    decoded(small, Device::cuda(2), file);
    CHECK(nvjpeg::calls().handles == 2);
    CHECK(nvjpeg::calls().live_states == 2);
  });
  CHECK(nvjpeg::calls().live_handles == 0);
}

TEST_CASE("The caller's current device stays as it was") {
  begin({}, {.devices = 4});
  on_a_thread([&] {
    device::make_current(3);
    decoded(small, Device::cuda(1), photograph());
    CHECK(device::current() == 3);
  });
}

TEST_CASE("A warm thread takes no more memory of the device, nor page locks") {
  begin();
  on_a_thread([&] {
    std::vector<Bytes> files;
    for (int i = 0; i < 12; ++i)
      files.push_back(photograph(200 - 9 * i, 100 + 7 * i));
    const auto pass = [&] {
      for (const Bytes& file : files)
        decoded(small, gpu, file);
    };
    pass();
    const device::Calls warm = device::calls();
    pass();
    CHECK(device::calls().allocations == warm.allocations);
    CHECK(device::calls().page_locks == warm.page_locks);
    CHECK(device::calls().copies == warm.copies + 12);
  });
}

TEST_CASE("Page locks that are refused change no pixel") {
  begin({}, {.refuse_page_locks = true});
  const Bytes file = photograph();
  on_a_thread([&] { CHECK(decoded(small, gpu, file) == decoded(small, Device::cpu(), file)); });
}

TEST_CASE("A device that is not there is refused by name before anything runs") {
  begin({}, {.devices = 2});
  const Schema files = {FieldSpec::ragged("image", DType::uint8, 1000)};
  DecodeImage op = small;
  op.device = Device::cuda(2);
  CHECK_THROWS_WITH_AS(op.schema(files),
                       doctest::Contains("[decode] cuda:2 was asked for, this machine has 2"),
                       DeviceError);
  op.device = gpu;
  CHECK_NOTHROW(op.schema(files));
  CHECK(op.working_bytes(files) > small.working_bytes(files));
}

TEST_CASE("A library that is missing or is another one is named") {
  const std::vector<std::string> nowhere = {"/nowhere/libnvjpeg.so.13", "/none/libnvjpeg.so.13"};
  const headrace::detail::NvjpegLibrary missing = headrace::detail::open_nvjpeg(nowhere);
  CHECK(!missing.is_open);
  CHECK(missing.reason.find("/nowhere/libnvjpeg.so.13") != std::string::npos);
  const std::vector<std::string> other = {"libm.so.6"};
  const headrace::detail::NvjpegLibrary wrong = headrace::detail::open_nvjpeg(other);
  CHECK(!wrong.is_open);
  CHECK(wrong.reason == "libm.so.6 has no nvjpegDecodeBatched");
}

}  // namespace
}  // namespace headrace::test
