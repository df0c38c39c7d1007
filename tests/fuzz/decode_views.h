#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/fuzz/finding.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::test {

inline constexpr std::uint64_t decoded_views = 4;

/// One view of a picture: the whole at its own size, the whole as it is turned over, or a window
/// at some scale. Its pixels, or what it is refused with; a write behind the pixels is a finding.
inline std::string decode_view(std::span<const std::byte> file, std::uint64_t view) {
  constexpr std::int64_t most_pixels = 1 << 20;
  constexpr int side = 20;
  constexpr std::size_t guard = 256;
  constexpr std::uint8_t mark = 0x5a;
  try {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const ImageHeader header = decoder.open(file);
    if (std::int64_t{header.width} * header.height > most_pixels) return "large";
    const int width = header.shown_width();
    const int height = header.shown_height();
    Random random(RandomKey{.seed = view});
    const bool whole = view < 2;
    const ImageWindow window =
        whole ? ImageWindow{0, 0, double(width), double(height), {.width = width, .height = height}}
              : place(RandomResizedCrop{.height = side, .width = side}, width, height, random);
    const int out_width = whole ? width : side;
    const int out_height = whole ? height : side;
    const auto bytes =
        static_cast<std::size_t>(3 * out_width) * static_cast<std::size_t>(out_height);
    std::vector<std::uint8_t> pixels(bytes + guard, mark);
    decoder.decode(window, {.rgb = pixels.data(),
                            .height = out_height,
                            .width = out_width,
                            .flip = whole ? view == 1 : random.chance(0.5),
                            .prescale = view % 2 == 0});
    const auto behind = pixels.begin() + static_cast<std::ptrdiff_t>(bytes);
    if (std::count(behind, pixels.end(), mark) != std::ptrdiff_t{guard})
      finding("a decode writes behind its picture");
    return {pixels.begin(), behind};
  } catch (const DataError& error) {
    return error.what();
  }
}

inline std::string decode_views(std::span<const std::byte> file) {
  std::string outcome;
  for (std::uint64_t view = 0; view < decoded_views; ++view)
    outcome += decode_view(file, view);
  return outcome;
}

}  // namespace headrace::test
