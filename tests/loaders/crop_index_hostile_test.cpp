#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

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
  static constexpr std::size_t jpeg_bytes = 16;
  static constexpr std::size_t entropy_first = 20;
  static constexpr std::size_t checksum = 36;

 private:
  std::byte* at_;
};

}  // namespace

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
  const std::size_t index = footer.number(Footer::jpeg_bytes);
  footer.put(Footer::checksum,
             detail::checksum_of(wide.data() + index,
                                 wide.size() - crop_footer_bytes + Footer::checksum - index));

  ImageDecoder decoder;
  const ImageHeader header = decoder.open(wide);
  REQUIRE(header.width == 64);
  test::Pixels rgb(std::size_t{3} * 32 * 48);
  CHECK_THROWS_WITH_AS(decoder.decode({0, 0, 64, 48, {.width = 64, .height = 48}},
                                      {.rgb = rgb.data(), .height = 48, .width = 32}),
                       doctest::Contains("the markers are broken"), DataError);
}
