#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/tests/loaders/damaged_photographs.h>
#include <headrace/tests/loaders/gathered.h>

#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;

namespace {

/// Where the scans of a file begin and end: marker, header and data of each.
std::vector<std::pair<std::size_t, std::size_t>> scans_of(const Bytes& file) {
  std::vector<std::pair<std::size_t, std::size_t>> scans;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(file[i]); };
  for (std::size_t at = 2; byte(at + 1) != 0xd9;) {
    const bool is_scan = byte(at + 1) == 0xda;
    std::size_t end = at + 2 + (byte(at + 2) << 8 | byte(at + 3));
    const auto is_data = [&](std::size_t i) {
      return byte(i) != 0xff || byte(i + 1) == 0 || (byte(i + 1) >= 0xd0 && byte(i + 1) <= 0xd7);
    };
    while (is_scan && is_data(end))
      ++end;
    if (is_scan) scans.emplace_back(at, end);
    at = end;
  }
  return scans;
}

Bytes without_scan(const Bytes& file, std::size_t number) {
  const auto [first, end] = scans_of(file)[number];
  Bytes rest(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(first));
  rest.insert(rest.end(), file.begin() + static_cast<std::ptrdiff_t>(end), file.end());
  return rest;
}

std::string refusal(const Bytes& file, const Region& region, int side) {
  return test::message_of<DataError>([&] {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    decoder.open(file);
    test::Pixels rgb(static_cast<std::size_t>(3 * side * side));
    decoder.decode(
        {double(region.x), double(region.y), double(region.width), double(region.height), region},
        {.rgb = rgb.data(), .height = side, .width = side});
  });
}

std::vector<jpeg_scan_info> one_scan_a_component() {
  std::vector<jpeg_scan_info> scans(3);
  for (int c = 0; c < 3; ++c)
    scans[static_cast<std::size_t>(c)] = {
        .comps_in_scan = 1, .component_index = {c}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0};
  return scans;
}

}  // namespace

TEST_CASE("a JPEG without one of its scans is refused whole, in part and for an index") {
  constexpr int width = 150;
  constexpr int height = 117;
  const std::vector<jpeg_scan_info> sequential = one_scan_a_component();
  const test::Pixels colours = test::photograph(width, height, 3, 9);
  const std::vector<Bytes> files = {
      test::encode_jpeg({.width = width, .height = height, .progressive = true}, colours),
      test::encode_jpeg({.width = width, .height = height, .components = 1, .progressive = true},
                        test::photograph(width, height, 1, 9)),
      test::encode_jpeg(
          {.width = width, .height = height, .scans = sequential.data(), .scan_count = 3},
          colours)};
  for (const Bytes& file : files) {
    const std::size_t count = scans_of(file).size();
    CAPTURE(count);
    REQUIRE(count >= 3);
    CHECK_NOTHROW(ImageDecoder::this_thread().check(file));
    for (std::size_t number = 0; number < count; ++number) {
      CAPTURE(number);
      const Bytes cut = without_scan(file, number);
      CHECK_FALSE(refusal(cut, {0, 0, width, height}, 100).empty());
      CHECK_FALSE(refusal(cut, {16, 16, 40, 40}, 40).empty());
      CHECK_FALSE(refusal(cut, {0, 0, width, height}, 8).empty());
      CHECK_THROWS_AS(make_crop_indexed(cut), DataError);
    }
    const std::string last = refusal(without_scan(file, count - 1), {0, 0, width, height}, 100);
    CAPTURE(last);
    CHECK(test::contains(last, "JPEG: scans are missing"));
  }
}

TEST_CASE("scans that go over many blocks are refused before they take long") {
  // Each scan of a flat picture is a few bytes, and a pass over a million blocks.
  constexpr int side = 8192;
  const std::vector<jpeg_scan_info> scans = {
      {.comps_in_scan = 1, .component_index = {0}, .Ss = 0, .Se = 0, .Ah = 0, .Al = 0},
      {.comps_in_scan = 1, .component_index = {0}, .Ss = 1, .Se = 63, .Ah = 0, .Al = 0}};
  Bytes file = test::encode_jpeg(
      {.width = side, .height = side, .components = 1, .scans = scans.data(), .scan_count = 2},
      test::Pixels(std::size_t{side} * side, 128));
  const auto [first, end] = scans_of(file)[1];
  const Bytes again(file.begin() + static_cast<std::ptrdiff_t>(first),
                    file.begin() + static_cast<std::ptrdiff_t>(end));
  for (int i = 0; i < 70; ++i)
    file.insert(file.end() - 2, again.begin(), again.end());
  CHECK(file.size() < 300'000);
  const std::string message = refusal(file, {0, 0, 64, 64}, 64);
  CAPTURE(message);
  CHECK(test::contains(message, "its scans go over more blocks than the limit of 67108864"));
}
