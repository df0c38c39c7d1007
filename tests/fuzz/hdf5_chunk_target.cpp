// A stored chunk of any content, behind any filters, must give its bytes or a DataError, and the
// same ones whatever the thread decoded before, and with the shuffle left to who takes the bytes.
//
// Input: number of filters (1 byte, modulo 5); for each its kind (1, modulo 7), number of settings
// (1, modulo 7) and those (4 each, little-endian); the mask (4); the chunk's size (4, modulo 1
// MiB); what is left is the stored chunk.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>
#include <headrace/loaders/hdf5/internal/unshuffle.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace headrace;

namespace {

constexpr std::array kinds{1, 2, 3, 32000, 32004, 32008, 32015};
constexpr std::uint32_t most_chunk = 1U << 20;

class ChunkInput {
 public:
  ChunkInput(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  std::uint32_t number(std::size_t bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes && !left_.empty(); ++i, left_ = left_.subspan(1))
      value |= static_cast<std::uint32_t>(left_[0]) << 8 * i;
    return value;
  }
  std::span<const std::byte> rest() const { return std::as_bytes(left_); }

 private:
  std::span<const std::uint8_t> left_;
};

struct Outcome {
  std::string refusal{};
  std::vector<std::byte> bytes{};
  bool operator==(const Outcome&) const = default;
};

Outcome decode(const detail::ChunkCodec& codec, std::span<const std::byte> stored,
               std::uint32_t mask, std::size_t bytes, detail::CodecScratch& scratch) {
  Outcome outcome;
  outcome.bytes.resize(bytes);
  try {
    codec.decode(stored, mask, outcome.bytes, scratch);
  } catch (const DataError& error) {
    outcome = {error.what(), {}};
  }
  return outcome;
}

/// The same with the shuffle undone by who takes the bytes out; what a refusal says may differ.
Outcome decode_apart(const detail::ChunkCodec& codec, std::span<const std::byte> stored,
                     std::uint32_t mask, std::size_t bytes, detail::CodecScratch& scratch) {
  Outcome outcome;
  try {
    const auto [apart, element] = codec.decode_apart(stored, mask, bytes, scratch);
    outcome.bytes.assign(apart.begin(), apart.end());
    if (element > 1 && bytes > 0)
      detail::unshuffle(apart, element, 0, bytes / element, outcome.bytes.data());
  } catch (const DataError& error) {
    outcome = {error.what(), {}};
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static detail::CodecScratch used;
  ChunkInput input(data, size);
  std::vector<detail::ChunkFilter> filters(input.number(1) % 5);
  for (detail::ChunkFilter& filter : filters) {
    filter.id = kinds[input.number(1) % kinds.size()];
    filter.values.resize(input.number(1) % 7);
    for (std::uint32_t& value : filter.values)
      value = input.number(4);
  }
  const std::uint32_t mask = input.number(4);
  const std::size_t bytes = input.number(4) % most_chunk;
  std::optional<detail::ChunkCodec> codec;
  try {
    codec.emplace(filters, bytes);
  } catch (const DataError&) {
    return 0;
  }
  detail::CodecScratch fresh;
  const Outcome whole = decode(*codec, input.rest(), mask, bytes, fresh);
  const Outcome apart = decode_apart(*codec, input.rest(), mask, bytes, used);
  if (decode(*codec, input.rest(), mask, bytes, used) != whole) std::abort();
  if (apart.bytes != whole.bytes || apart.refusal.empty() != whole.refusal.empty()) std::abort();
  return 0;
}
