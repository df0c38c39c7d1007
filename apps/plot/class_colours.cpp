#include <headrace/apps/plot/class_colours.h>

#include <array>

namespace headrace::inline v1::app {
namespace {

constexpr std::array<Colour, 8> first{{{0, 0, 0},
                                       {230, 159, 0},
                                       {86, 180, 233},
                                       {0, 158, 115},
                                       {240, 228, 66},
                                       {0, 114, 178},
                                       {213, 94, 0},
                                       {204, 121, 167}}};

// The label's bits go to red, green and blue in turn, the lowest to their highest bits.
Colour of_bits(unsigned label) {
  unsigned red = 0;
  unsigned green = 0;
  unsigned blue = 0;
  for (unsigned bit = 7; label != 0; --bit, label >>= 3U) {
    red |= (label & 1U) << bit;
    green |= (label >> 1U & 1U) << bit;
    blue |= (label >> 2U & 1U) << bit;
  }
  return {static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
          static_cast<std::uint8_t>(blue)};
}

}  // namespace

Colour class_colour(std::uint8_t label) {
  return label < first.size() ? first[label] : of_bits(label);
}

}  // namespace headrace::inline v1::app
