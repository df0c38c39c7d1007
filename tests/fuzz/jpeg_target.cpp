// A JPEG of any content against plain libjpeg-turbo, alone and with so much behind it that the
// library takes its fast way. What that warns about is a DataError of a whole decode. Of a sound
// file the whole, every part of it, and every part of it behind a crop index are the same pixels,
// unless a limit that the docs name refuses it.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/crop_indexed_jpeg.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/jpeg_decoder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/plain_jpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace headrace;
using Pixels = std::vector<std::uint8_t>;

namespace {

/// Whether a whole decode must refuse all that libjpeg-turbo warns about, and what lacks scans.
constexpr bool strict = true;

constexpr std::size_t most_pixels = 1 << 16;

/// Reasons to refuse a file that libjpeg-turbo takes without a warning: parts of our messages.
constexpr std::array<std::string_view, 5> limits{
    "more scans than the limit", "more blocks than the limit", "more memory than the limit",
    "scans are missing",  // libjpeg-turbo smooths what did not come
    "bytes cannot hold",  // fewer than a bit a block
};

/// The same of a crop index: what a baseline file cannot hold.
constexpr std::array<std::string_view, 4> index_limits{
    "a DC value is out of range", "DCT coefficient out of range", "needs a baseline file",
    "more memory than the limit"};

bool is_among(std::string_view message, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return message.find(part) != std::string_view::npos; });
}

/// Pixels of three bytes; nothing and a message where the work is refused.
template <class Work>
std::optional<Pixels> attempt(const Work& work, std::string& refusal) {
  try {
    return work();
  } catch (const DataError& error) {
    refusal = error.what();
  } catch (const ResourceError& error) {
    refusal = error.what();
  }
  return {};
}

Pixels whole(std::span<const std::byte> file) {
  JpegDecoder& decoder = JpegDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  Pixels rgb(std::size_t{3} * static_cast<std::size_t>(header.width) *
             static_cast<std::size_t>(header.height));
  decoder.decode_whole(rgb.data());
  return rgb;
}

struct Image {
  std::span<const std::byte> file;
  int width = 0;
  int height = 0;
};

std::array<Region, 3> windows(const Image& image) {
  const int w = image.width, h = image.height;
  return {Region{w / 3, h / 4, (w + 1) / 2, (h + 1) / 2}, Region{w - 1, h - 1, 1, 1},
          Region{0, h / 2, w, 1}};
}

/// What a window is at a scale.
Region scaled(const Region& window, int scale) {
  const auto up = [scale](int end) { return (end + scale - 1) / scale; };
  const int x = window.x / scale, y = window.y / scale;
  return {x, y, up(window.x + window.width) - x, up(window.y + window.height) - y};
}

/// Whether decoded pixels have in the window, which they cover, the bytes of a whole image `width`
/// wide, three a pixel.
bool same(const DecodedPixels& part, const Region& window, const Pixels& all, int width) {
  for (int y = window.y; y < window.y + window.height; ++y) {
    const std::uint8_t* got = part.data +
                              part.stride * static_cast<std::size_t>(y - part.region.y) +
                              std::ptrdiff_t{4} * (window.x - part.region.x);
    const std::uint8_t* wanted =
        all.data() + std::ptrdiff_t{3} * (std::ptrdiff_t{y} * width + window.x);
    for (int x = 0; x < window.width; ++x, got += 4, wanted += 3)
      if (std::memcmp(got, wanted, 3) != 0) return false;
  }
  return true;
}

/// A whole image at a scale, three bytes a pixel.
Pixels whole_at(const Image& image, int scale) {
  JpegDecoder& decoder = JpegDecoder::this_thread();
  decoder.open(image.file);
  const DecodedPixels pixels = decoder.decode({0, 0, image.width, image.height}, scale);
  Pixels rgb;
  rgb.reserve(static_cast<std::size_t>(3 * pixels.region.width * pixels.region.height));
  for (int y = 0; y < pixels.region.height; ++y) {
    const std::uint8_t* from = pixels.data + pixels.stride * static_cast<std::size_t>(y);
    for (int x = 0; x < pixels.region.width; ++x, from += 4)
      rgb.insert(rgb.end(), from, from + 3);
  }
  return rgb;
}

DecodedPixels decode_window(const Image& image, const Region& window, int scale) {
  JpegDecoder& decoder = JpegDecoder::this_thread();
  decoder.open(image.file);
  return decoder.decode(window, scale);
}

DecodedPixels decode_indexed(CropIndexedJpeg& indexed, Region window, int scale) {
  const CropIndexedJpeg::Part part = indexed.part(window, scale);
  JpegDecoder& decoder = JpegDecoder::this_thread();
  decoder.open_part(part.markers);
  window.x -= part.x;
  window.y -= part.y;
  DecodedPixels pixels = decoder.decode_part(window, scale, part.rows);
  pixels.region.x += part.x / scale;
  pixels.region.y += part.y / scale;
  return pixels;
}

/// The image with a crop index; empty where it cannot have one.
std::vector<std::byte> index_of(const Image& image) {
  try {
    std::vector<std::byte> file = make_crop_indexed(image.file, {.segment_pixels = 16});
    ImageDecoder::this_thread().check(file);
    return file;
  } catch (const DataError& error) {
    if (!is_among(error.what(), index_limits))
      test::finding(std::string("a sound file gets no crop index: ") + error.what());
    return {};
  }
}

/// Every window at full size and at another scale, which depends on the file, with and without a
/// crop index, against the whole.
void check_parts(const Image& image, const Pixels& rgb) {
  const std::vector<std::byte> file = index_of(image);
  CropIndexedJpeg indexed;
  if (!file.empty()) indexed.open(file);
  for (const int scale : {1, 2 << image.file.size() % 3}) {
    const Pixels all = whole_at(image, scale);
    if (scale == 1 && all != rgb) test::finding("a crop of the whole differs from the whole");
    const int width = (image.width + scale - 1) / scale;
    for (const Region& window : windows(image)) {
      const Region there = scaled(window, scale);
      if (!same(decode_window(image, window, scale), there, all, width))
        test::finding("a crop differs from the whole at 1/" + std::to_string(scale));
      if (!file.empty() && !same(decode_indexed(indexed, window, scale), there, all, width))
        test::finding("an indexed crop differs from the whole at 1/" + std::to_string(scale));
    }
  }
}

}  // namespace

namespace {

void check(std::span<const std::byte> file) {
  const test::PlainJpeg plain = test::decode_plain(file, most_pixels);
  if (plain.skipped) return;
  std::string refusal;
  const auto ours = attempt([&] { return whole(file); }, refusal);
  if (strict && ours && !plain.sound())
    test::finding("a whole decode takes what libjpeg-turbo warns about: " + plain.complaint);
  if (!plain.sound()) return;
  if (!ours && !is_among(refusal, limits)) test::finding("a sound file is refused: " + refusal);
  if (!ours || (!strict && plain.incomplete)) return;
  if (*ours != plain.rgb) test::finding("the whole differs from libjpeg-turbo's");
  check_parts({file, plain.width, plain.height}, *ours);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t fast = 10 * 512;  // of an MCU of ten blocks
  const auto file = std::as_bytes(std::span(data, size));
  check(file);
  std::vector<std::byte> longer(file.begin(), file.end());
  longer.resize(size + fast);
  check(longer);
  return 0;
}
