// A program of its own: it stands in for malloc.
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/format_decoder.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/loaders/image_files_tiff.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <malloc.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
constexpr bool counts = false;  // a sanitizer has a malloc of its own
#else
constexpr bool counts = true;
#endif

namespace {

std::size_t allocations = 0;
std::size_t held = 0;  ///< bytes
std::size_t peak = 0;

[[maybe_unused]] void* counted(void* memory) {
  ++allocations;
  held += malloc_usable_size(memory);
  peak = std::max(peak, held);
  return memory;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) noexcept {
  return counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return counted(__libc_calloc(count, size));
}
void* realloc(void* memory, std::size_t size) noexcept {
  held -= malloc_usable_size(memory);
  return counted(__libc_realloc(memory, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return counted(__libc_memalign(alignment, size));
}
void free(void* memory) noexcept {
  held -= malloc_usable_size(memory);
  __libc_free(memory);
}
}
#endif

using namespace headrace;
using headrace::test::Bytes;

namespace {

Tensor jpeg(const test::JpegSpec& spec) {
  const Bytes file =
      test::encode_jpeg(spec, test::picture(spec.width, spec.height, spec.components));
  return Tensor::of(std::span(reinterpret_cast<const std::uint8_t*>(file.data()), file.size()),
                    Shape{static_cast<std::int64_t>(file.size())});
}

/// Pictures of many sizes and kinds.
std::vector<Tensor> pictures() {
  std::vector<Tensor> files;
  for (int i = 0; i < 24; ++i) {
    const int width = 500 - 17 * i;
    const int height = 375 + 5 * i;
    files.push_back(jpeg({.width = width,
                          .height = height,
                          .components = i % 6 == 5 ? 1 : 3,
                          .h_samp = 1 + i % 2,
                          .v_samp = 1 + i % 4 / 2,
                          .progressive = i % 5 == 4}));
  }
  return files;
}

}  // namespace

TEST_CASE("a warm thread decodes JPEG files without allocating memory") {
  if (!counts) {
    MESSAGE("skipped: allocations are counted without sanitizers alone");
    return;
  }
  const std::vector<Tensor> files = pictures();
  const DecodeImage op{.crop = RandomResizedCrop{96, 112}, .flip = 0.5F};
  Sample sample;
  const auto decode = [&](const Tensor& file, std::int64_t position) {
    sample.reset();
    sample.set("image", file);
    Random random(RandomKey{.seed = 1, .position = position});
    op(sample, random);
  };
  const auto pass = [&] {
    for (std::size_t i = 0; i < 3 * files.size(); ++i)
      decode(files[i % files.size()], static_cast<std::int64_t>(i));
  };
  allocations = 0;
  pass();
  CHECK(allocations > 0);  // the counter counts
  allocations = 0;
  pass();
  CHECK(allocations == 0);
  // One that takes more than is kept: its memory goes, and soon all is as before.
  decode(jpeg({.width = 2600, .height = 2200, .h_samp = 1, .v_samp = 1, .progressive = true}), 0);
  pass();
  allocations = 0;
  pass();
  CHECK(allocations == 0);
}

TEST_CASE("labels take no more than was counted from the header before") {
  if (!counts) {
    MESSAGE("skipped: bytes are counted without sanitizers alone");
    return;
  }
  constexpr int side = 1500;
  const test::Pixels grey(std::size_t{8} * side * side, 5);  // the same in all channels
  std::vector<Bytes> files;
  for (const bool interlaced : {false, true}) {
    for (const auto& [colour, bits, row] : {std::tuple{PNG_COLOR_TYPE_GRAY, 8, side},
                                            {PNG_COLOR_TYPE_GRAY, 16, 2 * side},
                                            {PNG_COLOR_TYPE_RGBA, 16, 8 * side}}) {
      files.push_back(test::encode_png(
          {.width = side, .height = side, .bits = bits, .colour = colour, .interlaced = interlaced},
          grey, static_cast<std::size_t>(row)));
    }
  }
  files.push_back(test::encode_tiff({.width = side, .height = side, .rows_per_strip = 8},
                                    test::Pixels(std::size_t{3} * side * side, 5)));
  constexpr std::size_t beside = std::size_t{1} << 19;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Region& region : {Region{0, 0, side, side}, Region{700, 700, 64, 64}}) {
      CAPTURE(i);
      CAPTURE(region.width);
      const std::size_t before = peak = held;
      const auto decoder = format_of(files[i])->make_decoder();
      decoder->open(files[i]);
      const std::size_t counted = decoder->needed_bytes(region, 1);
      decoder->decode_labels(region);
      CHECK(peak - before <= counted + beside);
    }
  }
}

TEST_CASE("a decoder holds no more than it counted from the header before") {
  if (!counts) {
    MESSAGE("skipped: bytes are counted without sanitizers alone");
    return;
  }
  constexpr int side = 1500;
  const test::Pixels pixels = test::picture(side, side, 3);
  const auto jpeg_of = [&](test::JpegSpec spec) {
    spec.width = spec.height = side;
    return test::encode_jpeg(spec, pixels);
  };
  const auto png_of = [&](bool interlaced) {
    return test::encode_png({.width = side, .height = side, .interlaced = interlaced}, pixels,
                            std::size_t{3} * side);
  };
  const std::vector<Bytes> files = {
      jpeg_of({}),
      jpeg_of({.progressive = true}),
      jpeg_of({.h_samp = 1, .v_samp = 1, .progressive = true}),
      png_of(false),
      png_of(true),
      test::encode_tiff(
          {.width = side, .height = side, .compression = COMPRESSION_LZW, .rows_per_strip = side},
          pixels)};
  constexpr std::size_t beside = std::size_t{1} << 20;  // tables, rows at work
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Region& region : {Region{0, 0, side, side}, Region{700, 700, 64, 64}}) {
      CAPTURE(i);
      CAPTURE(region.width);
      const std::size_t before = peak = held;
      const auto decoder = format_of(files[i])->make_decoder();
      decoder->open(files[i]);
      const std::size_t counted = decoder->needed_bytes(region, 1);
      decoder->decode(region, 1);
      CHECK(peak - before <= counted + beside);
      CHECK(counted <= 2 * (peak - before) + beside);
    }
  }
}
