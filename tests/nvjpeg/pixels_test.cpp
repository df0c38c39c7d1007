// What comes out of a decode on a device, with stand-ins for CUDA and nvJPEG and the kernel as host
// code: libjpeg-turbo is below both ways, so the pixels are equal.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/tests/loaders/image_corpus.h>

#include "begin.h"
#include "decoding.h"

#include <string>
#include <utility>
#include <vector>

namespace headrace::test {
namespace {

/// Whether both ways give the same, and whether the device did its part.
bool same(const DecodeImage& op, const std::vector<Bytes>& files, bool by_device) {
  std::vector<Pixels> pixels;
  const DeviceDecodes decodes = decodes_in([&] { pixels = decoded(op, gpu, files); });
  const auto count = static_cast<std::int64_t>(files.size());
  CHECK(decodes.on_device == (by_device ? count : 0));
  CHECK(decodes.on_cpu == (by_device ? 0 : count));
  return pixels == decoded(op, Device::cpu(), files);
}

std::vector<Bytes> copies(const Bytes& file, std::size_t count) {
  return std::vector<Bytes>(count, file);
}

TEST_CASE("A device gives the CPU's pixels for every crop, flip and chroma subsampling") {
  begin({}, {.devices = 1, .copy_delay_us = 0});
  const DecodeImage crop{.crop = RandomResizedCrop{31, 23}, .flip = 0.5F, .prescale = false};
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(2, 2)}) {
    const Bytes file = photograph(151, 113, h, v);
    CHECK(same(crop, copies(file, 60), true));
    CHECK(same({.crop = WholeImage{113, 151}}, {file}, true));
    CHECK(same({.crop = ResizedCenterCrop{113, 1, 1}}, {file}, true));
  }
  const Bytes grey = encode_jpeg(
      {.width = 67, .height = 45, .components = 1, .h_samp = 1, .v_samp = 1}, picture(67, 45, 1));
  const Bytes dot = encode_jpeg({.width = 1, .height = 1}, picture(1, 1, 3));
  const Bytes restarts = encode_jpeg({.restart_rows = 1}, picture(64, 48, 3));
  CHECK(same(crop, copies(grey, 20), true));
  CHECK(same(crop, copies(dot, 20), true));
  CHECK(same(crop, copies(restarts, 20), true));
  CHECK(same({.crop = ResizeTo{31, 23}, .resample = Resample::bilinear, .prescale = false},
             copies(grey, 3), true));
}

TEST_CASE("All eight EXIF orientations are shown as the CPU shows them, cut anywhere") {
  begin({}, {.devices = 1, .copy_delay_us = 0});
  const Bytes plain = photograph(90, 61);
  for (int o = 1; o <= 8; ++o) {
    CAPTURE(o);
    const Bytes file = with_orientation(plain, o);
    const int across = o >= 5 ? 61 : 90;
    const int down = o >= 5 ? 90 : 61;
    CHECK(same({.crop = WholeImage{down, across}}, {file}, true));
    CHECK(same({.crop = WholeImage{down, across}, .flip = 1.0F}, {file}, true));
    const DecodeImage op{.crop = RandomResizedCrop{.height = 9, .width = 14, .scale = {0.01, 0.3}},
                         .flip = 0.5F,
                         .prescale = false};
    CHECK(same(op, copies(file, 20), true));
  }
}

TEST_CASE("A device leaves to the CPU what decoders in hardware do not take, and counts it") {
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
      {"larger than the device's share of memory",
       encode_jpeg({.width = 3200, .height = 3000, .components = 1, .h_samp = 1, .v_samp = 1},
                   Pixels(9'600'000, 90))}};
  for (const auto& [name, file] : files) {
    CAPTURE(name);
    CHECK(same(op, {file}, false));
  }
  const Bytes file = photograph(400, 300);
  CHECK(same({.crop = ResizeTo{20, 20}, .prescale = false, .device_file_bytes = file.size()},
             {file}, true));
  CHECK(same({.crop = ResizeTo{20, 20}, .device_file_bytes = file.size() - 1}, {file}, false));
  CHECK(same({.crop = ResizeTo{12, 400}, .prescale = false}, {photograph(400, 288)}, true));
  CHECK(same({.crop = ResizeTo{10, 400}}, {photograph(400, 288)}, false));  // too wide a filter
}

TEST_CASE("A file that is cut off is a bad sample on a device too") {
  begin();
  OddFiles cut;
  cut.cuts("photograph", photograph(), 60);
  for (const OddFile& file : cut.files()) {
    CAPTURE(file.name);
    CHECK_THROWS_AS(decoded({.crop = ResizeTo{9, 9}}, gpu, file.bytes), DataError);
  }
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
  begin({}, {.devices = 1, .copy_delay_us = 0});
  int overlooked = 0;
  for (const OddFile& file : odd_files()) {
    CAPTURE(file.name);
    std::string on_cpu;
    std::string on_device;
    const Pixels wanted = shown_or_refused(file.bytes, Device::cpu(), on_cpu);
    Pixels shown;
    const DeviceDecodes decodes =
        decodes_in([&] { shown = shown_or_refused(file.bytes, gpu, on_device); });
    if (decodes.on_device > 0 && !on_cpu.empty()) {
      ++overlooked;
      continue;
    }
    CHECK(on_device == on_cpu);
    CHECK(shown == wanted);
  }
  MESSAGE("overlooked: " << overlooked);
  CHECK(overlooked > 0);  // else the stand-in would be stricter than nvJPEG
}

TEST_CASE("More than fits the scratch memory at once is decoded part by part") {
  begin({.delay_us = 300}, {.devices = 1, .copy_delay_us = 0});
  std::vector<Bytes> files;
  for (unsigned i = 0; i < 5; ++i) {
    const Pixels level(std::size_t{2900} * 2700, static_cast<std::uint8_t>(20 * i));
    files.push_back(encode_jpeg(
        {.width = 2900, .height = 2700, .components = 1, .h_samp = 1, .v_samp = 1}, level));
    files.push_back(photograph(60, 50, 2, 2, i));
  }
  const DecodeImage op{.crop = ResizeTo{120, 128}, .prescale = false};
  CHECK(decoded(op, gpu, files, 10) == decoded(op, Device::cpu(), files, 10));
  CHECK(nvjpeg::calls().batches == 5);
  CHECK(nvjpeg::calls().decodes == 10);
  CHECK(nvjpeg::calls().overlaps == 0);
}

}  // namespace
}  // namespace headrace::test
