// An image file of any content must give pixels or a DataError, and the same ones whatever the
// thread decoded before.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/loaders/image_files.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace headrace;

namespace {

constexpr std::int64_t most_pixels = 1 << 20;
constexpr int side = 24;

struct Outcome {
  std::string refusal{};
  std::vector<std::uint8_t> crop{};
  std::vector<std::uint8_t> whole{};
  std::vector<std::uint16_t> labels{};

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

ImageWindow whole_window(const ImageHeader& header) {
  return {0,
          0,
          double(header.shown_width()),
          double(header.shown_height()),
          {.width = header.shown_width(), .height = header.shown_height()}};
}

bool is_small(const ImageHeader& header) {
  return std::int64_t{header.width} * header.height <= most_pixels;
}

void decode_crop(std::span<const std::byte> file, Outcome& outcome) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  if (!is_small(header)) return;
  Random random(RandomKey{.position = static_cast<std::int64_t>(file.size())});
  const ImageWindow window =
      place(RandomResizedCrop{side, side}, header.shown_width(), header.shown_height(), random);
  outcome.crop.assign(std::size_t{3} * side * side, 1);
  decoder.decode(window, {.rgb = outcome.crop.data(),
                          .height = side,
                          .width = side,
                          .flip = random.chance(0.5),
                          .prescale = random.chance(0.5)});
}

void decode_whole(std::span<const std::byte> file, Outcome& outcome) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  if (!is_small(header)) return;
  const int width = header.shown_width();
  const int height = header.shown_height();
  outcome.whole.assign(static_cast<std::size_t>(3 * width) * static_cast<std::size_t>(height), 1);
  decoder.decode(whole_window(header),
                 {.rgb = outcome.whole.data(), .height = height, .width = width});
}

void decode_labels(std::span<const std::byte> file, Outcome& outcome) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  if (!is_small(header)) return;
  outcome.labels.assign(std::size_t{side} * side, 1);
  decoder.decode_labels(
      whole_window(header),
      {.labels = outcome.labels.data(), .dtype = DType::uint16, .height = side, .width = side});
}

template <class Work>
void attempt(const Work& work, std::span<const std::byte> file, Outcome& outcome) {
  try {
    work(file, outcome);
  } catch (const DataError& error) {
    outcome.refusal += error.what();
  }
}

Outcome outcome_of(std::span<const std::byte> file) {
  Outcome outcome;
  attempt(decode_crop, file, outcome);
  attempt(decode_whole, file, outcome);
  attempt(decode_labels, file, outcome);
  return outcome;
}

/// Leaves pixels of one level in every decoder of the thread.
void poison(std::uint8_t level) {
  const test::Pixels rgb(std::size_t{64} * 48 * 3, level);
  for (const test::Bytes& file : {test::encode_jpeg({.quality = 50}, rgb),
                                  test::encode_png({.width = 64, .height = 48}, rgb, 192)}) {
    Outcome ignored;
    decode_whole(file, ignored);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const Outcome first = outcome_of(file);
  poison(static_cast<std::uint8_t>(size * 37 + 91));
  if (outcome_of(file) == first) return 0;
  std::fputs("a picture depends on what was decoded before it\n", stderr);
  std::abort();
}
