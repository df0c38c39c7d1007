#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/tests/loaders/damaged_photographs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using test::Bytes;

namespace {

constexpr std::size_t crop_footer_bytes = 48;

/// The numbers at the end of a crop-indexed file (docs/pack-format.md).
class Footer {
 public:
  explicit Footer(Bytes& file) : at_(file.data() + file.size() - crop_footer_bytes) {}

  std::uint32_t number(std::size_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, at_ + at, sizeof value);
    return value;
  }
  void put(std::size_t at, std::uint32_t value) { std::memcpy(at_ + at, &value, sizeof value); }

  static constexpr std::size_t width = 0;
  static constexpr std::size_t kinds = 8;  // components, orientation, sides of an MCU
  static constexpr std::size_t jpeg_bytes = 16;
  static constexpr std::size_t entropy_first = 20;
  static constexpr std::size_t checksum = 36;

 private:
  std::byte* at_;
};

void seal(Bytes& file) {
  Footer footer(file);
  const std::size_t index = footer.number(Footer::jpeg_bytes);
  footer.put(Footer::checksum,
             detail::checksum_of(file.data() + index,
                                 file.size() - crop_footer_bytes + Footer::checksum - index));
}

Bytes indexed(int width, int height) {
  return make_crop_indexed(
      test::encode_jpeg({.width = width, .height = height}, test::picture(width, height, 3)));
}

/// A JPEG behind which the index of another stands, its places made those of this one.
Bytes behind(const Bytes& jpeg, Bytes other, std::uint32_t entropy_first) {
  const auto index =
      other.begin() + static_cast<std::ptrdiff_t>(Footer(other).number(Footer::jpeg_bytes));
  Bytes file = jpeg;
  file.insert(file.end(), index, other.end());
  Footer footer(file);
  footer.put(Footer::jpeg_bytes, static_cast<std::uint32_t>(jpeg.size()));
  footer.put(Footer::entropy_first, entropy_first);
  seal(file);
  return file;
}

Bytes behind(Bytes image, const Bytes& other) {
  const Footer footer(image);
  const Bytes jpeg(image.begin(),
                   image.begin() + static_cast<std::ptrdiff_t>(footer.number(Footer::jpeg_bytes)));
  return behind(jpeg, other, footer.number(Footer::entropy_first));
}

/// What is said of a decode of the whole, which writes to `rgb`.
std::string refusal_of(const Bytes& file, test::Pixels& rgb, std::size_t most_bytes) {
  try {
    ImageDecoder decoder;
    const ImageHeader header = decoder.open(file, most_bytes);
    const int width = header.shown_width();
    const int height = header.shown_height();
    decoder.decode({0, 0, double(width), double(height), {.width = width, .height = height}},
                   {.rgb = rgb.data(), .height = height, .width = width});
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

bool check_refuses(const Bytes& file) {
  try {
    ImageDecoder().check(file);
    return false;
  } catch (const DataError&) {
    return true;
  }
}

}  // namespace

TEST_CASE("an index of other sides than its image's is refused, and nothing is written") {
  const Bytes small = indexed(16, 16);
  const Bytes large = indexed(800, 600);
  for (const bool small_index : {true, false}) {
    CAPTURE(small_index);
    const Bytes file = small_index ? behind(large, small) : behind(small, large);
    test::Pixels rgb(std::size_t{3} * 800 * 600, 171);
    const std::string message = refusal_of(file, rgb, ImageLimits::memory);
    CHECK(message ==
          (small_index
               ? "JPEG: the crop index must be that of its image, got one of 16 x 16 pixels "
                 "behind an image of 800 x 600; pack the image again"
               : "JPEG: the crop index must be that of its image, got one of 800 x 600 "
                 "pixels behind an image of 16 x 16; pack the image again"));
    CHECK(std::ranges::count(rgb, 171) == std::ssize(rgb));
    CHECK(check_refuses(file));
  }
}

TEST_CASE("an index that turns its image or codes it otherwise is refused") {
  const Bytes sound = indexed(64, 48);
  for (const std::size_t at : {0, 1, 2, 3}) {
    CAPTURE(at);
    Bytes file = sound;
    Footer footer(file);
    // No orientation becomes the sixth, MCUs of 16 x 16 half of that: entries are as many in rows.
    constexpr std::array<std::uint32_t, 4> other{1, 6, 8, 8};
    const std::uint32_t shift = 8 * static_cast<std::uint32_t>(at);
    footer.put(Footer::kinds,
               (footer.number(Footer::kinds) & ~(0xffU << shift)) | other[at] << shift);
    seal(file);
    test::Pixels rgb(std::size_t{3} * 64 * 48);
    CHECK(refusal_of(file, rgb, ImageLimits::memory).find("crop index") != std::string::npos);
  }
}

TEST_CASE("bytes before the end of an indexed image are damage where libjpeg-turbo says so") {
  int sound = 0;
  int damaged = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const test::Pixels noise = test::photograph(16, 16, 3, seed);
    const Bytes jpeg = test::encode_jpeg({.width = 16, .height = 16, .quality = 98}, noise);
    for (const std::uint32_t more : {0U, 1U, 2U, 9U}) {
      CAPTURE(seed);
      CAPTURE(more);
      Bytes file = make_crop_indexed(jpeg);
      const std::uint32_t end = Footer(file).number(Footer::jpeg_bytes);
      file.insert(file.begin() + std::ptrdiff_t{end} - 2, more, std::byte{7});
      Footer(file).put(Footer::jpeg_bytes, end + more);
      seal(file);
      const test::PlainVerdict plain = test::plain_verdict(file);
      test::Pixels rgb(noise.size());
      CHECK(refusal_of(file, rgb, ImageLimits::memory).empty() == !plain.complains);
      CHECK(check_refuses(file) == plain.complains);
      if (!plain.complains) CHECK(rgb == plain.rgb);
      ++(plain.complains ? damaged : sound);
    }
  }
  CHECK(sound > 60);
  CHECK(damaged > 60);
}

TEST_CASE("sample_limit holds for what stands before an index, and for rows of a wide image") {
  const test::Pixels pixels = test::picture(1024, 1024, 3);
  const test::JpegSpec spec{
      .width = 1024, .height = 1024, .h_samp = 1, .v_samp = 1, .progressive = true};
  const Bytes progressive = test::encode_jpeg(spec, pixels);
  const Bytes index = make_crop_indexed(progressive);
  test::Pixels rgb(pixels.size());
  CHECK(refusal_of(index, rgb, std::size_t{1} << 20).empty());
  CHECK(refusal_of(behind(progressive, index, 600), rgb, std::size_t{1} << 20)
            .find("a crop index needs a baseline file") != std::string::npos);
  CHECK(refusal_of(index, rgb, std::size_t{1} << 17).find("sample_limit") != std::string::npos);
}

// libjpeg-turbo reads on right behind a TEM marker. Here what would be the length of a segment is
// the next marker, and the segment would hold the headers of a narrower image.
TEST_CASE("an image within a marker that has no segment is refused") {
  const Bytes narrow = make_crop_indexed(
      test::encode_jpeg({.width = 16, .height = 48, .components = 1}, test::picture(16, 48, 1)),
      {.segment_pixels = 4096});
  const auto find = [&narrow](int marker) {
    const std::array two{std::byte{0xff}, static_cast<std::byte>(marker)};
    return std::search(narrow.begin(), narrow.end(), two.begin(), two.end());
  };
  const auto quantisation = find(0xdb);
  const auto frame = find(0xc0);
  const auto scan = find(0xda);
  constexpr std::uint32_t segment_bytes = 0xffc0;

  Bytes wide = narrow;
  wide[static_cast<std::size_t>(frame - narrow.begin()) + 8] = std::byte{64};
  Bytes hidden{std::byte{0xff}, std::byte{0x01}};
  hidden.insert(hidden.end(), frame, scan);
  hidden.insert(hidden.end(), quantisation, frame);
  hidden.insert(hidden.end(), scan, scan + 10);
  hidden.resize(2 + segment_bytes);
  wide.insert(wide.begin() + 2, hidden.begin(), hidden.end());

  Footer footer(wide);
  footer.put(Footer::width, 64);
  for (const std::size_t place : {Footer::jpeg_bytes, Footer::entropy_first})
    footer.put(place, footer.number(place) + 2 + segment_bytes);
  seal(wide);
  CHECK_THROWS_WITH_AS(ImageDecoder().open(wide), doctest::Contains("the markers are broken"),
                       DataError);
}
