// What a file must be like before a device sees it.
#include <headrace/loaders/image/detail/nvjpeg/device_jpeg.h>
#include <headrace/tests/loaders/image_corpus.h>

#include "decoding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headrace::test {
namespace {

using headrace::detail::device_jpeg_length;

std::uint8_t at(const Bytes& file, std::size_t place) {
  return std::to_integer<std::uint8_t>(file.at(place));
}

/// Where the contents of the first segment of that marker begin.
std::size_t contents_of(const Bytes& file, std::uint8_t marker) {
  std::size_t place = 2;
  while (at(file, place + 1) != marker)
    place += 2 + (std::size_t{at(file, place + 2)} << 8 | at(file, place + 3));
  return place + 4;
}

Bytes with_byte(Bytes file, std::size_t place, int value) {
  file.at(place) = static_cast<std::byte>(value);
  return file;
}

Bytes with_bytes_at(Bytes file, std::size_t place, std::initializer_list<int> values) {
  for (const int value : values)
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(place++), static_cast<std::byte>(value));
  return file;
}

TEST_CASE("Files of the usual kinds are for a device, up to their end marker") {
  for (const Bytes& file :
       {photograph(), photograph(33, 21, 1, 1), photograph(64, 64, 2, 1), photograph(9, 9, 1, 2),
        encode_jpeg({.restart_rows = 1}, picture(64, 48, 3)),
        encode_jpeg({.optimized = true}, picture(64, 48, 3)),
        encode_jpeg({.components = 1, .h_samp = 1, .v_samp = 1}, picture(64, 48, 1))}) {
    CHECK(device_jpeg_length(file) == file.size());
    CHECK(device_jpeg_length(with_bytes_at(file, file.size(), {0, 0xff, 0xc0, 7})) == file.size());
    const std::vector<std::size_t> cuts = {0, 1, 2, 3, 4, 20, file.size() / 2, file.size() - 1};
    for (const std::size_t size : cuts) {
      CAPTURE(size);
      CHECK(device_jpeg_length(std::span(file).first(size)) == 0);
    }
  }
}

TEST_CASE("Files that a device may not see are left to the CPU") {
  const Bytes file = photograph();
  const Bytes restarts =
      encode_jpeg({.width = 64, .height = 96, .restart_rows = 1}, picture(64, 96, 3));
  const std::size_t frame = contents_of(file, 0xc0);
  const std::size_t tables = contents_of(file, 0xdb);
  const std::size_t codes = contents_of(file, 0xc4);
  const std::size_t scan = contents_of(file, 0xda);
  const std::size_t data = scan + 10;
  REQUIRE(device_jpeg_length(restarts) == restarts.size());
  const auto is_marker = [&](std::size_t i, int low, int high) {
    return at(restarts, i) == 0xff && at(restarts, i + 1) >= low && at(restarts, i + 1) <= high;
  };
  std::size_t first_restart = contents_of(restarts, 0xda);
  while (!is_marker(first_restart, 0xd0, 0xd7))
    ++first_restart;
  const std::pair<const char*, Bytes> files[] = {
      {"extended", with_byte(file, frame - 3, 0xc1)},
      {"progressive", with_byte(file, frame - 3, 0xc2)},
      {"arithmetic", with_byte(file, frame - 3, 0xc9)},
      {"an unknown segment", with_byte(file, frame - 3, 0xf0)},
      {"12 bits", with_byte(file, frame, 12)},
      {"no height", with_byte(with_byte(file, frame + 1, 0), frame + 2, 0)},
      {"more pixels than the data can be", with_byte(file, frame + 1, 0xff)},
      {"4:1:0", with_byte(file, frame + 7, 0x42)},
      {"chroma finer than luma", with_byte(file, frame + 10, 0x22)},
      {"a frame of another length", with_byte(file, frame - 1, at(file, frame - 1) + 1)},
      {"a quantiser of nought", with_byte(file, tables + 5, 0)},
      {"quantisers of 16 bits", with_byte(file, tables, 0x10)},
      {"a quantisation table that is not there", with_byte(file, frame + 8, 3)},
      {"more codes than bits", with_byte(file, codes + 1, 3)},
      {"a code of ones alone", with_byte(with_byte(file, codes + 8, 2), codes + 9, 0)},
      {"a DC symbol of 12 bits", with_byte(file, codes + 17, 12)},
      {"a Huffman table that is not there", with_byte(file, codes, 0x01)},
      {"a part of the coefficients", with_byte(file, data - 2, 62)},
      {"other components", with_byte(file, scan + 1, 9)},
      {"two components of one name",
       with_byte(with_byte(file, frame + 9, at(file, frame + 6)), scan + 3, at(file, frame + 6))},
      {"a marker in the data", with_bytes_at(file, data + 20, {0xff, 0xe0})},
      {"a second scan", with_bytes_at(file, data + 20, {0xff, 0xda})},
      {"a restart that nobody announced", with_bytes_at(file, data + 20, {0xff, 0xd0})},
      {"restarts out of order", with_byte(restarts, first_restart + 1, 0xd3)},
      {"a restart less", with_bytes_at(with_byte(restarts, first_restart + 1, 0), 0, {})},
      {"a restart interval of another length",
       with_byte(restarts, contents_of(restarts, 0xdd) + 1,
                 at(restarts, contents_of(restarts, 0xdd) + 1) + 1)}};
  for (const auto& [name, changed] : files) {
    CAPTURE(name);
    CHECK(device_jpeg_length(changed) == 0);
  }
}

TEST_CASE("A byte turned anywhere never makes a device read beyond the file") {
  const Bytes file =
      encode_jpeg({.width = 24, .height = 24, .restart_rows = 1}, picture(24, 24, 3));
  for (std::size_t place = 0; place < file.size(); ++place) {
    for (const int value : {0x00, 0x01, 0x7f, 0xd9, 0xff})
      CHECK(device_jpeg_length(with_byte(file, place, value)) <= file.size());
  }
}

}  // namespace
}  // namespace headrace::test
