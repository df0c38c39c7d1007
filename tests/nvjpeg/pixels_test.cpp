// What comes out of a decode on a device, with stand-ins for CUDA and nvJPEG: libjpeg-turbo is
// below both ways, so the pixels are equal.
#include <cstring>
#include <string>
#include <vector>

#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/loaders/image/nvjpeg_decoder.h>
#include <headrace/tests/loaders/image_corpus.h>
#include <headrace/tests/loaders/picture_pairs.h>

#include "begin.h"
#include "decoding.h"

namespace headrace::test {
namespace {

const Device gpu = Device::cuda(0);

/// Whether both ways give the same, and whether the device did its part.
bool same(const DecodeImage& op, const Bytes& file, std::int64_t position, bool by_device) {
  const DeviceDecodes before = device_decodes();
  const Pixels pixels = decoded(op, gpu, file, position);
  const DeviceDecodes after = device_decodes();
  CHECK(after.on_device - before.on_device == (by_device ? 1 : 0));
  CHECK(after.on_cpu - before.on_cpu == (by_device ? 0 : 1));
  return pixels == decoded(op, Device::cpu(), file, position);
}

TEST_CASE("A device gives the CPU's pixels for every crop, flip and chroma subsampling") {
  on_a_thread([&] {
    begin();
    const DecodeImage crop{.crop = RandomResizedCrop{31, 23}, .flip = 0.5F, .prescale = false};
    for (const auto& [h, v] :
         {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(2, 2)}) {
      const Bytes file = photograph(151, 113, h, v);
      for (std::int64_t i = 0; i < 60; ++i)
        REQUIRE(same(crop, file, i, true));
      CHECK(same({.crop = WholeImage{113, 151}}, file, 0, true));
      CHECK(same({.crop = ResizedCenterCrop{113, 1, 1}}, file, 0, true));
    }
    const Bytes grey =
        encode_jpeg({.width = 67, .height = 45, .components = 1}, picture(67, 45, 1));
    const Bytes dot = encode_jpeg({.width = 1, .height = 1}, picture(1, 1, 3));
    for (std::int64_t i = 0; i < 20; ++i) {
      REQUIRE(same(crop, grey, i, true));
      REQUIRE(same(crop, dot, i, true));
    }
  });
}

TEST_CASE("All eight EXIF orientations are shown as the CPU shows them, cut anywhere") {
  on_a_thread([&] {
    begin();
    const Bytes plain = photograph(90, 61);
    for (int o = 1; o <= 8; ++o) {
      CAPTURE(o);
      const Bytes file = with_orientation(plain, o);
      const int across = o >= 5 ? 61 : 90;
      const int down = o >= 5 ? 90 : 61;
      CHECK(same({.crop = WholeImage{down, across}}, file, 0, true));
      CHECK(same({.crop = WholeImage{down, across}, .flip = 1.0F}, file, 0, true));
      for (std::int64_t i = 0; i < 20; ++i) {
        const DecodeImage op{
            .crop = RandomResizedCrop{.height = 9, .width = 14, .scale = {0.01, 0.3}},
            .flip = 0.5F,
            .prescale = false};
        REQUIRE(same(op, file, i, true));
      }
    }
  });
}

TEST_CASE("A device leaves to the CPU what decoders in hardware do not take, and counts it") {
  on_a_thread([&] {
    begin();
    const DecodeImage op{.crop = RandomResizedCrop{17, 19}};
    const jpeg_scan_info planes[] = {
        {.comps_in_scan = 1, .component_index = {0}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0},
        {.comps_in_scan = 1, .component_index = {1}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0},
        {.comps_in_scan = 1, .component_index = {2}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0}};
    const std::vector<std::pair<std::string, Bytes>> files = {
        {"progressive", encode_jpeg({.progressive = true}, picture(64, 48, 3))},
        {"a scan a plane", encode_jpeg({.scans = planes, .scan_count = 3}, picture(64, 48, 3))},
        {"CMYK", encode_jpeg({.components = 4}, picture(64, 48, 4))},
        {"YCCK", encode_jpeg({.components = 4, .ycck = true}, picture(64, 48, 4))},
        {"4:1:1", encode_jpeg({.h_samp = 4, .v_samp = 1}, picture(64, 48, 3))},
        {"crop-indexed", make_crop_indexed(photograph(400, 300), {})},
        {"PNG", encode_png({}, picture(40, 30, 3), 120)},
        {"larger than a thread may hold",
         encode_jpeg({.width = 6000, .height = 4000, .components = 1}, Pixels(24'000'000, 90))}};
    for (const auto& [name, file] : files) {
      CAPTURE(name);
      CHECK(same(op, file, 3, false));
    }
    CHECK(nvjpeg::calls().decodes == 0);
  });
}

TEST_CASE("A file that is cut off is a bad sample on a device too") {
  on_a_thread([&] {
    begin();
    OddFiles cut;
    cut.cuts("photograph", photograph(), 60);
    for (const OddFile& file : cut.files()) {
      CAPTURE(file.name);
      CHECK_THROWS_AS(decoded({.crop = ResizeTo{9, 9}}, gpu, file.bytes), DataError);
    }
  });
}

Pixels shown_or_refused(const Bytes& file, Device device, std::string& refusal) {
  try {
    return decoded({.crop = ResizeTo{16, 16}, .prescale = false}, device, file);
  } catch (const DataError& error) {
    refusal = error.what();
    return {};
  }
}

TEST_CASE("Odd files come out as on the CPU, but for damage in the scan that nvJPEG overlooks") {
  on_a_thread([&] {
    begin();
    int overlooked = 0;
    for (const OddFile& file : odd_files()) {
      CAPTURE(file.name);
      std::string on_cpu;
      std::string on_device;
      const DeviceDecodes before = device_decodes();
      const Pixels wanted = shown_or_refused(file.bytes, Device::cpu(), on_cpu);
      const Pixels shown = shown_or_refused(file.bytes, gpu, on_device);
      const bool by_device = device_decodes().on_device > before.on_device;
      if (by_device && !on_cpu.empty()) {
        ++overlooked;
        continue;
      }
      CHECK(on_device == on_cpu);
      CHECK(shown == wanted);
    }
    CHECK(overlooked > 0);  // else the stand-in would be stricter than nvJPEG
  });
}

/// Photographs of many sizes, some of which a device does not take, with masks.
class Pictures final : public PicturePairs {
 public:
  Pictures() {
    for (int i = 0; i < 40; ++i) {
      const int width = 60 + 7 * (i % 9);
      const int height = 50 + 5 * (i % 7);
      const Bytes file = encode_jpeg(
          {.width = width, .height = height, .h_samp = 1 + i % 2, .progressive = i % 5 == 4},
          picture(width, height, 3, static_cast<unsigned>(i)));
      add(with_orientation(file, 1 + i % 4),
          encode_png({.width = width, .height = height, .colour = PNG_COLOR_TYPE_GRAY},
                     picture(width, height, 1, static_cast<unsigned>(i)),
                     static_cast<std::size_t>(width)));
    }
  }
};

/// Every byte of two epochs.
std::string two_epochs(Device decode_on, int threads, std::uint64_t seed) {
  Loader loader = Pipeline::from(Pictures())
                      .seed(seed)
                      .order(Shuffled{.seed = 3})
                      .then(DecodeImage{.crop = RandomResizedCrop{21, 17},
                                        .flip = 0.5F,
                                        .prescale = false,
                                        .masks = {"mask"},
                                        .device = decode_on})
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = threads})});
  std::string bytes;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (const char* field : {"image", "mask"}) {
        const Tensor tensor = batch[field];
        bytes.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
      }
    }
  }
  return bytes;
}

TEST_CASE("Batches decoded on a device are the same for 1, 2 and 8 threads, and leave nothing") {
  const std::string wanted = two_epochs(Device::cpu(), 2, 5);
  for (const int threads : {1, 2, 8}) {
    CAPTURE(threads);
    begin();
    CHECK(two_epochs(gpu, threads, 5) == wanted);
    CHECK(nvjpeg::calls().decodes >= 64);  // and of the next epoch
    CHECK(nvjpeg::calls().live_states == 0);
    CHECK(nvjpeg::calls().live_headers == 0);
    CHECK(nvjpeg::calls().live_handles == 0);
    CHECK(device::calls().live_allocations == 0);
    CHECK(device::calls().live_streams == 0);
    CHECK(device::calls().live_events == 0);
    CHECK(device::calls().page_locks == 0);
  }
  CHECK(two_epochs(gpu, 2, 6) != wanted);
}

}  // namespace
}  // namespace headrace::test
