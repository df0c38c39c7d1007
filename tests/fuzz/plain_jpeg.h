#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::test {

/// What plain libjpeg-turbo makes of a file, decoded to its end.
struct PlainJpeg {
  bool skipped = false;     ///< more pixels than were allowed: nothing else is known
  std::string complaint{};  ///< its error or first warning; empty: the file is sound
  bool incomplete = false;  ///< scans of a progressive image are missing: no complaint
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb{};  ///< of a sound file; CMYK turned into red, green and blue

  bool sound() const noexcept { return complaint.empty(); }
};

PlainJpeg decode_plain(std::span<const std::byte> file, std::size_t most_pixels);

}  // namespace headrace::test
