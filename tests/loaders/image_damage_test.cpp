#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/tests/loaders/damaged_photographs.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Pixels;
using headrace::test::PlainVerdict;

namespace {

/// All pixels; nothing where the file is refused.
std::optional<Pixels> whole_or_none(const Bytes& file) {
  try {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const ImageHeader header = decoder.open(file);
    Pixels rgb(std::size_t{3} * static_cast<std::size_t>(header.width) *
               static_cast<std::size_t>(header.height));
    decoder.decode({0,
                    0,
                    double(header.width),
                    double(header.height),
                    {.width = header.width, .height = header.height}},
                   {.rgb = rgb.data(), .height = header.height, .width = header.width});
    return rgb;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

/// Whether a look at the smallest scale refuses the file.
bool small_is_refused(const Bytes& file) {
  try {
    ImageDecoder::this_thread().check(file);
    return false;
  } catch (const DataError&) {
    return true;
  }
}

bool is_indexed(const Bytes& file) {
  try {
    make_crop_indexed(file);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

Bytes without_end(Bytes file) {
  file.resize(file.size() - 2);
  return file;
}

Bytes with_bytes(Bytes file, std::initializer_list<int> more) {
  for (const int byte : more)
    file.push_back(static_cast<std::byte>(byte));
  return file;
}

}  // namespace

TEST_CASE("whatever libjpeg-turbo warns of in a thousand damaged photographs is refused, whole") {
  int complaints = 0;
  int silent = 0;
  for (const test::Photograph& photograph : test::photographs()) {
    CAPTURE(photograph.kind);
    const std::optional<Pixels> sound = whole_or_none(photograph.file);
    REQUIRE(sound.has_value());
    CHECK(*sound == test::plain_verdict(photograph.file).rgb);
    CHECK_FALSE(small_is_refused(photograph.file));
    CHECK(is_indexed(photograph.file));
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      CAPTURE(seed);
      const Bytes file = test::damaged(photograph.file, seed);
      const PlainVerdict plain = test::plain_verdict(file);
      if (plain.too_large) continue;
      const std::optional<Pixels> ours = whole_or_none(file);
      if (plain.complains) {
        ++complaints;
        CHECK_FALSE(ours.has_value());
        CHECK(small_is_refused(file));
        CHECK_FALSE(is_indexed(file));
      } else if (ours.has_value()) {
        ++silent;
        CHECK(*ours == plain.rgb);
        CHECK_FALSE(small_is_refused(file));
      }
    }
  }
  CHECK(complaints > 500);
  CHECK(silent > 100);
}

// In files longer than a few kilobytes libjpeg-turbo takes its fast way, which overlooks codes that
// stand for nothing.
TEST_CASE("a large baseline photograph is damaged exactly where libjpeg-turbo fails or warns") {
  int sound = 0;
  for (const test::Photograph& photograph : test::photographs(600, 400)) {
    if (photograph.kind.starts_with("progressive")) continue;  // may lack scans
    CAPTURE(photograph.kind);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const Bytes file = test::damaged(photograph.file, seed);
      const PlainVerdict plain = test::plain_verdict(file);
      if (plain.too_large) continue;
      const std::optional<Pixels> ours = whole_or_none(file);
      CHECK(ours.has_value() == !plain.complains);
      CHECK(small_is_refused(file) == plain.complains);
      if (!ours.has_value() || plain.complains) continue;
      CHECK(*ours == plain.rgb);
      ++sound;
    }
  }
  CHECK(sound > 50);
}

TEST_CASE("of an FF too many within the data the pixels are what libjpeg-turbo makes of it") {
  const Bytes file = test::photographs(600, 400)[1].file;
  int sound = 0;
  for (std::size_t at = 700; at + 8000 < file.size(); ++at) {
    if (file[at] != std::byte{0xff} || file[at + 1] != std::byte{0}) continue;
    CAPTURE(at);
    Bytes bad = file;
    bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0xff});
    const PlainVerdict plain = test::plain_verdict(bad);
    const std::optional<Pixels> ours = whole_or_none(bad);
    CHECK(ours.has_value() == !plain.complains);
    if (!ours.has_value() || plain.complains) continue;
    CHECK(*ours == plain.rgb);
    ++sound;
  }
  CHECK(sound > 3);
}

TEST_CASE("a sound JPEG whose coded data end in FF is indexed, and its index stands the check") {
  int ends_in_ff = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    Random random(RandomKey{.seed = seed});
    Pixels noise(std::size_t{12} * 12);
    for (std::uint8_t& value : noise)
      value = static_cast<std::uint8_t>(random.below(256));
    const Bytes file = test::encode_jpeg({.width = 12, .height = 12, .components = 1}, noise);
    REQUIRE_NOTHROW(make_crop_indexed(file));
    const Bytes indexed = make_crop_indexed(file);
    CHECK_FALSE(small_is_refused(indexed));
    CHECK(whole_or_none(indexed) == whole_or_none(file));
    const auto data_end =
        std::ranges::search(indexed, std::array{std::byte{0xff}, std::byte{0xd9}}).begin();
    ends_in_ff += data_end[-1] == std::byte{0} && data_end[-2] == std::byte{0xff} ? 1 : 0;
  }
  CHECK(ends_in_ff > 2);
}

TEST_CASE("what follows the last row of a JPEG is looked at, what follows its end is not") {
  for (const test::Photograph& photograph : test::photographs()) {
    CAPTURE(photograph.kind);
    const Bytes& file = photograph.file;
    const Bytes open = without_end(file);
    Bytes twenty = open;
    twenty.resize(twenty.size() + 20, std::byte{7});
    CHECK_FALSE(whole_or_none(with_bytes(twenty, {0xff, 0xd9})).has_value());
    CHECK_FALSE(whole_or_none(with_bytes(open, {0xff, 0xd3, 1, 2, 3, 0xff, 0xd9})).has_value());
    // Fill bytes, a comment and a preview behind the end are no damage.
    for (const Bytes& sound :
         {with_bytes(open, {0xff, 0xff, 0xff, 0xd9}),
          with_bytes(open, {0xff, 0xfe, 0, 4, 'h', 'i', 0xff, 0xd9}),
          with_bytes(file, {0, 0, 0, 1, 2, 3}), with_bytes(file, {0xff, 0xd8, 0xff, 0xe0, 9, 9})}) {
      const std::optional<Pixels> pixels = whole_or_none(sound);
      REQUIRE(pixels.has_value());
      CHECK(*pixels == test::plain_verdict(file).rgb);
    }
  }
}

TEST_CASE("bytes before the end marker are damage where libjpeg-turbo says so") {
  const Bytes file = test::photographs().front().file;
  int refused = 0;
  for (int count = 1; count <= 24; ++count) {
    for (const std::byte filling : {std::byte{0}, std::byte{0xff}, std::byte{7}}) {
      for (const std::size_t behind : {0, 8192}) {
        Bytes padded = without_end(file);
        padded.resize(padded.size() + static_cast<std::size_t>(count), filling);
        Bytes ended = with_bytes(padded, {0xff, 0xd9});
        ended.resize(ended.size() + behind);
        const PlainVerdict plain = test::plain_verdict(ended);
        CAPTURE(count);
        CHECK(whole_or_none(ended).has_value() == !plain.complains);
        refused += plain.complains ? 1 : 0;
      }
    }
  }
  CHECK(refused > 40);
  CHECK(refused < 96);
}
