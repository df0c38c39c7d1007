// nvJPEG itself: what it answers without a driver, and how far its pixels are from the CPU's.
#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_library.h>
#include <headrace/loaders/image/device_decode.h>
#include <headrace/tests/loaders/image_corpus.h>
#include <headrace/tests/support/skip.h>

#include "decoding.h"
#include "hardware.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace headrace::test {
namespace {

/// Colours that run slowly, as in a photograph.
Pixels smooth(int width, int height) {
  Pixels pixels;
  for (int i = 0; i < width * height; ++i) {
    for (int c = 0; c < 3; ++c) {
      const double wave = std::sin(i % width * 0.05 + 2 * c) * std::cos(i / width * 0.04 - c);
      pixels.push_back(static_cast<std::uint8_t>(128 + 110 * wave));
    }
  }
  return pixels;
}

TEST_CASE("nvJPEG without a driver answers an error and nothing worse") {
  if (device_present()) return skip("needs a machine without a GPU");
  std::vector<std::string> places = headrace::detail::nvjpeg_places();
#ifdef HEADRACE_NVJPEG_LIBRARY
  places.emplace_back(HEADRACE_NVJPEG_LIBRARY);
#endif
  const headrace::detail::NvjpegLibrary library = headrace::detail::open_nvjpeg(places);
  if (!library.is_open) return skip("needs nvJPEG");
  void* handle = nullptr;
  for (const auto backend :
       {headrace::detail::nvjpeg::Backend::hardware, headrace::detail::nvjpeg::Backend::automatic})
    CHECK(library.call.create(backend, nullptr, nullptr, 0, &handle) !=
          headrace::detail::nvjpeg::Status::success);
}

TEST_CASE("A decode on a device is refused at build() where there is none") {
  if (device_present()) return skip("needs a machine without a GPU");
  const DecodeImage op{.crop = ResizeTo{8, 8}, .device = gpu};
  CHECK_THROWS_WITH_AS(op.schema({FieldSpec::ragged("image", DType::uint8, 1000)}),
                       doctest::Contains("[decode] cuda:0 was asked for"), DeviceError);
}

TEST_CASE("A device's pixels are within 6 levels of the CPU's" * doctest::test_suite("gpu")) {
  if (!device_present()) return skip("needs a GPU");
  if (!nvjpeg_present()) return skip("needs nvJPEG");
  MESSAGE(device_decoder(gpu));
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(2, 2)}) {
    const int width = 501;
    const int height = 375;
    const Bytes file =
        encode_jpeg({.width = width, .height = height, .h_samp = h, .v_samp = v, .quality = 95},
                    smooth(width, height));
    const auto apart = [&](const DecodeImage& op, std::size_t copies) {
      const std::vector<Bytes> files(copies, file);
      const std::vector<Pixels> cpu = decoded(op, Device::cpu(), files, 64);
      std::vector<Pixels> device;
      const DeviceDecodes decodes = decodes_in([&] { device = decoded(op, gpu, files, 64); });
      CHECK(decodes.on_device == static_cast<std::int64_t>(copies));
      int most = 0;
      for (std::size_t i = 0; i < copies; ++i)
        most = std::max(most, farthest(device[i], cpu[i]));
      return most;
    };
    const DecodeImage crop{
        .crop = RandomResizedCrop{.height = 64, .width = 64, .scale = {0.05, 0.5}},
        .flip = 0.5F,
        .prescale = false};
    CHECK(apart(crop, 100) <= 6);
    const int most = apart({.crop = WholeImage{height, width}}, 3);
    MESSAGE("chroma " << h << "x" << v << ": at most " << most << " levels apart");
    CHECK(most <= 6);
  }
}

}  // namespace
}  // namespace headrace::test
