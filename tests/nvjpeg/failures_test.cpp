// What happens when nvJPEG, its device or its library will not play along.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_handle.h>
#include <headrace/tests/engine/test_support.h>

#include "begin.h"
#include "decoding.h"

#include <string>
#include <utility>
#include <vector>

namespace headrace::test {
namespace {

/// The cases that hardware runs too do not set the stand-ins up.
[[maybe_unused]] const bool stand_ins_are_set_up = (begin(), true);

const DecodeImage small{.crop = ResizeTo{12, 10}, .prescale = false};

std::vector<Bytes> photographs(int count) {
  std::vector<Bytes> files;
  files.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    files.push_back(photograph(60 + i, 50 - i, 2, 2, static_cast<unsigned>(i)));
  return files;
}

/// Beside what was there before: a device that failed keeps its memory.
void check_nothing_left(const device::Calls& before) {
  CHECK(nvjpeg::calls().live_handles == 0);
  CHECK(nvjpeg::calls().live_states == 0);
  CHECK(nvjpeg::calls().live_headers == 0);
  CHECK(device::calls().live_streams == before.live_streams);
  CHECK(device::calls().live_allocations == before.live_allocations);
}

TEST_CASE("A file that nvJPEG does not take comes from the CPU, the others from the device") {
  const std::vector<Bytes> files = photographs(14);
  const std::vector<Pixels> wanted = decoded(small, Device::cpu(), files);
  for (const char* call :
       {"nvjpegJpegStreamParseHeader", "nvjpegDecodeBatchedSupported", "unsupported"}) {
    CAPTURE(call);
    begin({.failing = call, .status = 3, .from = 4, .times = 3});
    std::vector<Pixels> shown;
    const DeviceDecodes decodes = decodes_in([&] { shown = decoded(small, gpu, files); });
    CHECK(shown == wanted);
    CHECK(decodes.on_device == 11);
    CHECK(decodes.on_cpu == 3);
  }
}

TEST_CASE("A batch that nvJPEG refuses is decoded picture by picture, and the refused by the CPU") {
  const std::vector<Bytes> files = photographs(14);
  const std::vector<Pixels> wanted = decoded(small, Device::cpu(), files);
  for (const bool locked : {true, false}) {
    begin({.delay_us = 300, .refused_width = 63}, {.devices = 1, .refuse_page_locks = !locked});
    std::vector<Pixels> shown;
    const DeviceDecodes decodes = decodes_in([&] { shown = decoded(small, gpu, files); });
    CHECK(shown == wanted);
    CHECK(decodes.on_device == 13);
    CHECK(decodes.on_cpu == 1);
    CHECK(nvjpeg::calls().batches == 6 + 1);  // six alone, and the second batch at once
    CHECK(nvjpeg::calls().overlaps == 0);
  }
}

TEST_CASE("A batch that fails once is right all the same, whatever nvJPEG answers") {
  const std::vector<Bytes> files = photographs(14);
  const std::vector<Pixels> wanted = decoded(small, Device::cpu(), files);
  const device::Calls before = device::calls();
  for (const int status : {1, 2, 3, 4, 6, 8, 9, 10}) {
    for (const std::int64_t from : {0, 1}) {
      CAPTURE(status);
      begin({.failing = "nvjpegDecodeBatched", .status = status, .from = from, .times = 2});
      CHECK(decoded(small, gpu, files) == wanted);
    }
  }
  check_nothing_left(before);
}

TEST_CASE("What cannot be set up ends the run with the device's name, and leaves nothing") {
  const std::vector<Bytes> files = photographs(3);
  const device::Calls before = device::calls();
  for (const char* call : {"nvjpegCreateEx", "nvjpegJpegStreamCreate", "nvjpegJpegStateCreate",
                           "nvjpegDecodeBatchedInitialize"}) {
    CAPTURE(call);
    begin({.failing = call, .status = 8, .times = 100});
    CHECK_THROWS_WITH_AS(decoded(small, gpu, files), doctest::Contains("nvJPEG answers status 8"),
                         DeviceError);
    check_nothing_left(before);
  }
}

TEST_CASE("Memory that a device has not got is no fault of the image") {
  for (const char* call : {"nvjpegDecodeBatched", "nvjpegDecodeBatchedInitialize"}) {
    begin({.failing = call, .status = 5, .times = 100});
    CHECK_THROWS_WITH_AS(decoded(small, gpu, photographs(3)),
                         doctest::Contains("use smaller batches, or decode on the CPU"),
                         ResourceError);
  }
}

TEST_CASE("A device that fails ends the run instead of leaving all work to the CPU") {
  begin({.failing = "nvjpegDecodeBatched", .status = 6, .times = 9},
        {.devices = 1, .fail_copy = 0});
  CHECK_THROWS_AS(decoded(small, gpu, photographs(3)), DeviceError);
}

TEST_CASE(
    "Wherever one call of CUDA is refused, its epoch ends or is right, and all others are right") {
  const Watchdog watchdog("refused calls of CUDA");
  const std::vector<Bytes> files = photographs(24);
  DecodeImage op = small;
  const auto read = [&](Loader& loader) {
    std::string all;
    for (const std::string& rows : read_epoch(loader, op.device, 0, {"image"}))
      all += rows;
    return all;
  };
  const auto build = [&] {
    return Pipeline::from(std::make_shared<const Files>(files))
        .then(op)
        .batch({.size = 4})
        .to(op.device)
        .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  };
  Loader on_cpu = build();
  const std::string wanted = read(on_cpu);
  op.device = gpu;
  int ended = 0;
  for (const char* call : {"cudaEventRecord", "cudaStreamWaitEvent", "cudaMemcpyAsync",
                           "cudaLaunchHostFunc", "cudaEventQuery"}) {
    for (int number = 0; number < 24; number += 1 + number / 8) {
      CAPTURE(call);
      CAPTURE(number);
      begin({.delay_us = 200}, {.devices = 1,
                                .refuse = call,
                                .refuse_after = number,
                                .copy_delay_us = 0,
                                .copy_least_us = 1000});
      Loader loader = build();
      int failed = 0;
      for (int run = 0; run < 3; ++run) {
        try {
          const std::string all = read(loader);
          CHECK((all == wanted));
        } catch (const DeviceError&) {
          ++failed;
        }
      }
      CHECK(failed <= 1);
      ended += failed;
      CHECK(device::calls().torn_copies == 0);
      CHECK(nvjpeg::calls().overlaps == 0);
    }
  }
  CHECK(ended > 20);
}

TEST_CASE("A warm loader takes no more memory of the device, nor states, nor page locks") {
  begin({.delay_us = 100});
  Loader loader = Pipeline::from(std::make_shared<const Files>(photographs(32)))
                      .then(DecodeImage{.crop = ResizeTo{12, 10}, .device = gpu})
                      .batch({.size = 8})
                      .to(gpu)
                      .build({.runtime = Runtime({.threads = 2})});
  read_epoch(loader, gpu, 0, {"image"});
  const device::Calls warm = device::calls();
  for (int epoch = 1; epoch < 4; ++epoch)
    read_epoch(loader, gpu, epoch, {"image"});
  CHECK(device::calls().allocations == warm.allocations);
  CHECK(device::calls().page_locks == warm.page_locks);
  CHECK(nvjpeg::calls().live_states <= loader.stats().slabs);
}

TEST_CASE("Loaders and threads share the handle of a device") {
  begin({}, {.devices = 3});
  const device::Calls before = device::calls();
  const auto build = [](Device device) {
    DecodeImage op = small;
    op.device = device;
    return Pipeline::from(std::make_shared<const Files>(photographs(9)))
        .then(op)
        .batch({.size = 3})
        .to(device)
        .build({.runtime = Runtime({.threads = 2})});
  };
  {
    Loader first = build(gpu);
    Loader second = build(gpu);
    Loader third = build(Device::cuda(2));
    read_epoch(first, gpu, 0, {"image"});
    read_epoch(second, gpu, 0, {"image"});
    CHECK(nvjpeg::calls().handles == 1);
    read_epoch(third, Device::cuda(2), 0, {"image"});
    CHECK(nvjpeg::calls().handles == 2);
  }
  check_nothing_left(before);
}

TEST_CASE("The best decoder that a device has is used and named: engines, kernels, the library's") {
  const auto made = [](nvjpeg::Behaviour behaviour, bool has_video) {
    begin(std::move(behaviour));
    const auto& library = headrace::detail::require_nvjpeg("test");
    const auto handle = headrace::detail::make_nvjpeg_handle(library, gpu, has_video);
    return std::pair(nvjpeg::calls().backend, handle.description);
  };
  CHECK(made({}, true) == std::pair(3, std::string("nvJPEG 13.4.1, hardware engines")));
  CHECK(made({.engines = false}, true) ==
        std::pair(
            2, std::string("nvJPEG 13.4.1, GPU (CPU Huffman for parts of 50 pictures or fewer)")));
  CHECK(made({.engines = false, .kernels = false}, true) ==
        std::pair(0, std::string("nvJPEG 13.4.1, CPU Huffman")));
  CHECK(made({}, false) ==
        std::pair(2, std::string("nvJPEG 13.4.1, GPU (CPU Huffman for parts of 50 pictures or "
                                 "fewer); hardware engines need the driver's "
                                 "libnvcuvid.so.1, which cannot be opened")));
  CHECK(nvjpeg::calls().flags == (1 | 4 | 32));
  CHECK(nvjpeg::calls().live_handles == 0);
}

TEST_CASE("Versions of nvJPEG that damaged files crash are refused, or said") {
  CHECK(headrace::detail::nvjpeg_refusal({12, 9, 9}) == "it is of version 12.9.9, which is not 13");
  CHECK(headrace::detail::nvjpeg_refusal({0, 0, 0}) != "");
  CHECK(headrace::detail::nvjpeg_refusal({13, 0, 0}).empty());
  begin();
  headrace::detail::NvjpegLibrary older = headrace::detail::require_nvjpeg("test");
  older.version = {13, 3, 2};
  CHECK(headrace::detail::make_nvjpeg_handle(older, gpu, true).description ==
        "nvJPEG 13.3.2, hardware engines; before 13.4.1 a damaged scan may crash it");
}

TEST_CASE("The decoder that runs is named for the device at hand") {
  begin();
  CHECK(device_decoder(gpu).starts_with("nvJPEG 13.4.1, hardware engines"));
  CHECK(nvjpeg::calls().live_handles == 0);
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
  op.device_share = 1.5;
  CHECK_THROWS_WITH_AS(op.schema(files), doctest::Contains("device_share must lie in [0, 1]"),
                       ConfigError);
  op.device_share = 0.5;
  op.device_file_bytes = 0;
  CHECK_THROWS_WITH_AS(op.schema(files), doctest::Contains("device_file_bytes must lie in [1, "),
                       ConfigError);
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
