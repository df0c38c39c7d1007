#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::test {

/// A chunk that another program stored.
struct StoredChunk {
  const char* name;
  bool noise;
  std::size_t element;
  std::size_t count;
  std::vector<detail::ChunkFilter> filters;
  std::uint32_t skipped;
  std::string_view hex;

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes.push_back(
          static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return bytes;
  }
};

inline std::vector<StoredChunk> stored_chunks() {
  return {
#include <headrace/tests/loaders/hdf5_filters.inc>
  };
}

}  // namespace headrace::test
