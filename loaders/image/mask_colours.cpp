#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/colour_labels.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

std::uint32_t colour_at(const DecodedPixels& pixels, int x, int y) {
  const std::uint8_t* rgb =
      pixels.data + pixels.stride * static_cast<std::size_t>(y) + std::ptrdiff_t{4} * x;
  return number_of(rgb[0], rgb[1], rgb[2]);
}

int distance(std::uint32_t a, std::uint32_t b) {
  int sum = 0;
  for (const int shift : {0, 8, 16}) {
    const int difference = static_cast<int>(a >> shift & 255) - static_cast<int>(b >> shift & 255);
    sum += difference * difference;
  }
  return sum;
}

struct PixelPlace {
  int x = 0;
  int y = 0;
};

[[noreturn]] void refuse(const DecodedPixels& pixels, PixelPlace at,
                         std::span<const MaskColour> colours, std::string_view format) {
  const std::uint32_t unknown = colour_at(pixels, at.x, at.y);
  std::int64_t count = 0;
  for (int y = 0; y < pixels.region.height; ++y) {
    for (int x = 0; x < pixels.region.width; ++x)
      count += colour_at(pixels, x, y) == unknown ? 1 : 0;
  }
  const auto nearest = std::ranges::min_element(colours, {}, [unknown](const MaskColour& colour) {
    return distance(unknown, number_of(colour));
  });
  throw DataError(std::string(format) + ": its colours must be those of mask_colours (" +
                  std::to_string(colours.size()) + "), got " + to_text(unknown) + " in " +
                  std::to_string(count) + " pixels, first at column " +
                  std::to_string(pixels.region.x + at.x) + ", row " +
                  std::to_string(pixels.region.y + at.y) + "; the nearest is " +
                  to_text(number_of(*nearest)) + ", label " + std::to_string(nearest->label));
}

}  // namespace

std::string to_text(std::uint32_t colour) {
  std::string text = "[";
  for (const int shift : {16, 8, 0})
    text += std::to_string(colour >> shift & 255) + (shift > 0 ? ", " : "]");
  return text;
}

DecodedLabels ColourLabels::labels(const DecodedPixels& pixels, std::span<const MaskColour> colours,
                                   std::string_view format) {
  const Region& region = pixels.region;
  labels_.trim();
  auto* const made = reinterpret_cast<std::uint16_t*>(labels_.reserve(
      2 * static_cast<std::size_t>(region.width) * static_cast<std::size_t>(region.height)));
  std::vector<std::pair<std::uint32_t, std::uint16_t>> table;
  for (const MaskColour& colour : colours)
    table.emplace_back(number_of(colour), colour.label);
  std::sort(table.begin(), table.end());
  auto last = table.begin();  // neighbours mostly have one colour
  std::uint16_t* out = made;
  for (int y = 0; y < region.height; ++y) {
    for (int x = 0; x < region.width; ++x) {
      const std::uint32_t colour = colour_at(pixels, x, y);
      if (last == table.end() || last->first != colour)
        last = std::lower_bound(table.begin(), table.end(), std::pair(colour, std::uint16_t{0}));
      if (last == table.end() || last->first != colour) refuse(pixels, {x, y}, colours, format);
      *out++ = last->second;
    }
  }
  return {.data = made, .stride = static_cast<std::size_t>(region.width), .region = region};
}

}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {

void check_mask_colours(std::span<const MaskColour> colours, const char* who) {
  std::set<std::uint32_t> seen;
  for (const MaskColour& colour : colours) {
    if (seen.insert(detail::number_of(colour)).second) continue;
    throw ConfigError("[" + std::string(who) +
                      "] mask_colours: " + detail::to_text(detail::number_of(colour)) +
                      " must come once, came twice; leave one out");
  }
}

}  // namespace headrace::inline v1
