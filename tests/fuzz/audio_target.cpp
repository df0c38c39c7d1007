// A sound file of any content gives finite samples, the same again, a piece of it the same as
// within the whole where samples are stored one by one, or a DataError.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/audio/audio_decoder.h>
#include <headrace/tests/fuzz/finding.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using namespace headrace;

namespace {

constexpr AudioLimits limits{.frames = 1 << 17};
using Samples = std::vector<float>;

/// Samples [first, first + count) by a decoder of its own; nothing for a refusal.
std::optional<Samples> read(std::span<const std::byte> file, std::int64_t first,
                            std::int64_t count) {
  try {
    AudioDecoder decoder(file, limits);
    Samples samples(static_cast<std::size_t>(count), -2.0F);
    decoder.read(first, samples);
    return samples;
  } catch (const DataError&) {
    return {};
  }
}

std::int64_t frames_of(std::span<const std::byte> file) {
  try {
    return AudioDecoder(file, limits).header().frames;
  } catch (const DataError&) {
    return 0;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const std::int64_t frames = frames_of(file);
  const auto whole = read(file, 0, frames);
  if (!std::ranges::all_of(whole.value_or(Samples{}), [](float x) { return std::isfinite(x); }))
    test::finding("a sample is no number");
  const std::int64_t first = frames / 3;
  const std::int64_t count = std::min<std::int64_t>(frames - first, 500);
  const auto piece = read(file, first, count);
  if (read(file, 0, frames) != whole || read(file, first, count) != piece)
    test::finding("a sound differs the second time");
  if (size < 4 || data[0] != 'R' || !whole || !piece) return 0;
  if (!std::equal(piece->begin(), piece->end(), whole->begin() + first))
    test::finding("a piece of a sound differs from that within the whole");
  return 0;
}
