#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::training::detail {

/// Largest header that is read, in bytes.
inline constexpr std::uint64_t max_safetensors_header = 100'000'000;

/// One tensor as a safetensors header describes it. Offsets count from the start of the data.
struct SafetensorsEntry {
  std::string name;
  std::string dtype = {};
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries = {};  ///< in the order of their data
  std::map<std::string, std::string> metadata = {};
};

/// Bytes of one value, 0 for a type that is not known.
HEADRACE_API std::uint64_t safetensors_item_size(std::string_view dtype);

/// Reads and checks the JSON of a header whose data are `data_bytes` long: only what the format
/// allows, nothing but spaces behind it, no name twice, known types, shapes whose size in bytes
/// neither overflows nor differs from their range, and ranges that cover the data without hole or
/// overlap. Throws `CheckpointError` that begins with `who`.
HEADRACE_API SafetensorsHeader parse_safetensors_header(std::string_view json,
                                                        std::uint64_t data_bytes,
                                                        const std::string& who);

/// The JSON for `header`, padded with spaces so that it and the eight bytes before it end on a
/// multiple of eight.
HEADRACE_API std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace headrace::inline v1::training::detail
