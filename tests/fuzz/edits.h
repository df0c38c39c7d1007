#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace headrace::test {

/// A fuzzer's input as changes to a sound file, so that it begins deep inside the format: records
/// of offset (3 bytes, little-endian), length (1 byte, 1 to 8) and so many bytes. The offset
/// 0xffffff makes the file as long as its bytes say.
inline std::vector<std::byte> edited(std::vector<std::byte> file,
                                     std::span<const std::uint8_t> edits) {
  while (edits.size() > 4) {
    const std::size_t offset = edits[0] | edits[1] << 8 | edits[2] << 16;
    const std::size_t length = std::size_t{edits[3]} % 8 + 1;
    edits = edits.subspan(4);
    std::uint64_t value = 0;
    const std::size_t count = length < edits.size() ? length : edits.size();
    std::memcpy(&value, edits.data(), count);
    edits = edits.subspan(count);
    if (offset == 0xffffff) {
      if (value <= 4 * file.size()) file.resize(value);
    } else if (offset < file.size()) {
      std::memcpy(file.data() + offset, &value,
                  count < file.size() - offset ? count : file.size() - offset);
    }
  }
  return file;
}

}  // namespace headrace::test
