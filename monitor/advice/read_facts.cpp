#include <headrace/monitor/advice/read_facts.h>

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::monitor {
namespace {

constexpr std::int64_t least_side = 8;
constexpr std::int64_t most_side = 64;

// A power of two near a quarter of the patch: smaller chunks cost more than they save.
std::int64_t better_side(std::int64_t patch) {
  const auto quarter = static_cast<std::uint64_t>(std::max<std::int64_t>(patch / 4, 1));
  return std::clamp(static_cast<std::int64_t>(std::bit_floor(quarter)), least_side, most_side);
}

// Along an axis a patch at any place touches 1 + (patch - 1) / chunk chunks in the mean.
double amplification_along(std::int64_t patch, std::int64_t chunk) {
  return static_cast<double>(patch + chunk - 1) / static_cast<double>(patch);
}

}  // namespace

ReadFacts patch_reads(const ChunkBytes& bytes, const std::array<std::int64_t, 3>& chunk,
                      const std::array<std::int64_t, 3>& patch) {
  std::array<std::int64_t, 3> better{};
  double predicted = 1.0;
  for (std::size_t axis = 0; axis < patch.size(); ++axis) {
    better[axis] = better_side(patch[axis]);
    predicted *= amplification_along(std::max<std::int64_t>(patch[axis], 1), better[axis]);
  }
  return {.bytes_read = bytes.unpacked,
          .bytes_used = bytes.used,
          .why = fmt::format("chunks of {} for patches of {}", fmt::join(chunk, "x"),
                             fmt::join(patch, "x")),
          .setting = "headrace pack volumes --chunk",
          .old_value = fmt::format("{}", fmt::join(chunk, ",")),
          .new_value = fmt::format("{}", fmt::join(better, ",")),
          .predicted = predicted};
}

ReadFacts row_reads(const ChunkBytes& bytes, std::int64_t chunk_rows) {
  return {.bytes_read = bytes.unpacked,
          .bytes_used = bytes.used,
          .why = fmt::format("rows in any order out of chunks of {} rows", chunk_rows),
          .setting = "headrace pack table --layout",
          .old_value = fmt::format("chunks of {} rows", chunk_rows),
          .new_value = "contiguous",
          .predicted = 1.0};
}

}  // namespace headrace::inline v1::monitor
