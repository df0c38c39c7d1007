// A safetensors header of any content is a CheckpointError, or it describes the data without hole
// or overlap and comes back the same when it is written and read again.
//
// Input: how long the data are (8 bytes, little-endian), then the header's text.
#include <headrace/tests/fuzz/finding.h>
#include <headrace/training/checkpoint/safetensors_header.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

using namespace headrace;
using training::detail::SafetensorsEntry;
using training::detail::SafetensorsHeader;

namespace {

std::optional<SafetensorsHeader> parse(std::string_view text, std::uint64_t data_bytes) {
  try {
    return training::detail::parse_safetensors_header(text, data_bytes, "x");
  } catch (const training::CheckpointError&) {
    return {};
  }
}

bool same(const SafetensorsEntry& a, const SafetensorsEntry& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.begin == b.begin &&
         a.end == b.end;
}

bool same(const SafetensorsHeader& a, const SafetensorsHeader& b) {
  return a.metadata == b.metadata &&
         std::ranges::equal(a.entries, b.entries,
                            [](const auto& x, const auto& y) { return same(x, y); });
}

void check_cover(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    std::uint64_t bytes = training::detail::safetensors_item_size(entry.dtype);
    for (const std::int64_t side : entry.shape)
      bytes *= static_cast<std::uint64_t>(side);
    if (entry.begin != end || entry.end - entry.begin != bytes)
      test::finding("a tensor's range is not its size, or leaves a hole");
    end = entry.end;
  }
  if (end != data_bytes) test::finding("the tensors are not all of the data");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t data_bytes = 0;
  if (size < sizeof data_bytes) return 0;
  std::memcpy(&data_bytes, data, sizeof data_bytes);
  // A block of its own, so that a read past the end is seen by a sanitizer.
  const std::vector<char> text(data + sizeof data_bytes, data + size);
  const auto header = parse({text.data(), text.size()}, data_bytes);
  if (!header) return 0;
  check_cover(*header, data_bytes);
  const auto again = parse(training::detail::format_safetensors_header(*header), data_bytes);
  if (!again || !same(*header, *again)) test::finding("a header changes as it is written");
  return 0;
}
