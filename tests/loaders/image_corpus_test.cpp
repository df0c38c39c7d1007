#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/loaders/image_corpus.h>

#include <cstdint>
#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::OddFile;
using headrace::test::Pixels;

namespace {

constexpr int most_pixels = 1 << 22;  // of what is decoded here; larger pictures stay headers

/// What became of a file: its pixels, or why it was refused.
struct FileOutcome {
  std::string refusal{};
  int width = 0;
  int height = 0;
  Pixels whole{};
  Pixels part{};
  std::string label_refusal{};
  std::vector<std::uint16_t> labels{};

  friend bool operator==(const FileOutcome&, const FileOutcome&) = default;
};

ImageWindow window_of(const Region& region) {
  return {double(region.x), double(region.y), double(region.width), double(region.height), region};
}

void decode(const Bytes& file, FileOutcome& outcome) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  const int width = outcome.width = header.shown_width();
  const int height = outcome.height = header.shown_height();
  if (std::int64_t{width} * height > most_pixels) throw DataError("larger than this test decodes");
  Pixels pixels(static_cast<std::size_t>(3 * width * height), 1);
  decoder.decode(window_of({.width = width, .height = height}),
                 {.rgb = pixels.data(), .height = height, .width = width});
  outcome.whole = pixels;
  // A crop of the lower right, smaller and flipped.
  const Region part{.x = width / 3,
                    .y = height / 3,
                    .width = width - width / 3,
                    .height = (height - height / 3 + 1) / 2};
  pixels.assign(11 * 13 * 3, 1);
  decoder.open(file);
  decoder.decode(window_of(part), {.rgb = pixels.data(), .height = 11, .width = 13, .flip = true});
  outcome.part = pixels;
}

void decode_labels(const Bytes& file, FileOutcome& outcome) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  if (std::int64_t{header.width} * header.height > most_pixels) return;
  std::vector<std::uint16_t> labels(11 * 13);
  decoder.decode_labels(
      window_of({.width = header.shown_width(), .height = header.shown_height()}),
      {.labels = labels.data(), .dtype = DType::uint16, .height = 11, .width = 13});
  outcome.labels = labels;
}

FileOutcome outcome_of(const Bytes& file) {
  FileOutcome outcome;
  try {
    decode(file, outcome);
  } catch (const DataError& error) {
    outcome.refusal = error.what();
  }
  try {
    decode_labels(file, outcome);
  } catch (const DataError& error) {
    outcome.label_refusal = error.what();
  }
  return outcome;
}

/// Decodes a picture of one colour by every decoder of this thread, so that what a decoder leaves
/// behind would be seen.
void poison(std::uint8_t level) {
  const int width = 96;
  const int height = 80;
  const auto area = static_cast<std::size_t>(width * height);
  const Pixels rgb(area * 3, level);
  Pixels out(area * 3);
  for (const Bytes& file :
       {test::encode_jpeg({.width = width, .height = height, .quality = 100}, rgb),
        test::encode_jpeg({.width = width, .height = height, .quality = 100, .progressive = true},
                          rgb),
        test::encode_png({.width = width, .height = height}, rgb, std::size_t{3} * width),
        test::encode_tiff({.width = width, .height = height}, rgb)}) {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    decoder.open(file);
    decoder.decode(window_of({.width = width, .height = height}),
                   {.rgb = out.data(), .height = height, .width = width});
    REQUIRE(out == rgb);
  }
}

const std::vector<OddFile>& corpus() {
  static const std::vector<OddFile> files = test::odd_files();
  return files;
}

}  // namespace

TEST_CASE("the corpus is large and its files differ") {
  std::set<Bytes> distinct;
  for (const OddFile& file : corpus())
    distinct.insert(file.bytes);
  MESSAGE(corpus().size() << " files, " << distinct.size() << " distinct");
  CHECK(distinct.size() >= 200);
}

TEST_CASE("odd files give their picture or a refusal that names the format") {
  for (const OddFile& file : corpus()) {
    const FileOutcome outcome = outcome_of(file.bytes);
    CAPTURE(file.name);
    CAPTURE(outcome.refusal);
    if (file.must == OddFile::Must::show) {
      CHECK(outcome.refusal == "");
      CHECK(outcome.width == file.width);
      CHECK(outcome.height == file.height);
      CHECK(outcome.whole == file.pixels);
    } else if (file.must == OddFile::Must::refuse) {
      CHECK(outcome.refusal != "");
    }
    if (outcome.refusal.empty()) continue;
    bool named = false;
    for (const char* beginning : {"JPEG: ", "PNG: ", "TIFF: ", "WebP: ", "BMP: ", "image must be",
                                  "larger than this test"}) {
      named = named || outcome.refusal.find(beginning) == 0;
    }
    CHECK(named);
  }
}

TEST_CASE("no file ever shows anything of the one before it") {
  for (const OddFile& file : corpus()) {
    poison(250);
    const FileOutcome after_bright = outcome_of(file.bytes);
    poison(5);
    CAPTURE(file.name);
    CHECK(outcome_of(file.bytes) == after_bright);
  }
}

TEST_CASE("good pictures are right after all of them") {
  for (const OddFile& file : corpus())
    outcome_of(file.bytes);
  poison(77);
}
