#include <headrace/augment/detail/colour.h>
#include <headrace/augment/detail/colour_steps.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

using Table = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::int64_t, 256>;

void copy(const Picture& picture, std::uint8_t* to) {
  if (to != picture.data) std::memcpy(to, picture.data, static_cast<std::size_t>(picture.bytes()));
}

/// Every value of channel c, of those that lie `channels` apart, through a table.
void look_up(const Picture& picture, std::int64_t c, const Table& table, std::uint8_t* to) {
  for (std::int64_t i = c; i < picture.bytes(); i += picture.channels)
    to[i] = table[picture.data[i]];
}

void look_up(const Picture& picture, const Table& table, std::uint8_t* to) {
  for (std::int64_t i = 0; i < picture.bytes(); ++i)
    to[i] = table[picture.data[i]];
}

Histogram histogram_of(const Picture& picture, std::int64_t c) {
  Histogram counts{};
  for (std::int64_t i = c; i < picture.bytes(); i += picture.channels)
    ++counts[picture.data[i]];
  return counts;
}

/// Within 0 to 255, fraction dropped.
std::uint8_t level(float v) {
  return static_cast<std::uint8_t>(std::clamp(v, 0.0F, 255.0F));
}

Table equalized(const Histogram& counts, std::int64_t pixels) {
  Table table;
  int last = 255;
  while (last > 0 && counts[static_cast<std::size_t>(last)] == 0)
    --last;
  const std::int64_t step = (pixels - counts[static_cast<std::size_t>(last)]) / 255;
  std::int64_t below = step / 2;
  for (std::size_t v = 0; v < table.size(); ++v) {
    table[v] = static_cast<std::uint8_t>(step == 0 ? static_cast<std::int64_t>(v)
                                                   : std::min<std::int64_t>(below / step, 255));
    below += counts[v];
  }
  return table;
}

}  // namespace

void adjust_brightness(const Picture& picture, std::uint8_t* to, double factor) {
  scale_levels(picture.data, to, picture.bytes(), static_cast<float>(factor), 0.0F);
}

void adjust_contrast(const Picture& picture, std::uint8_t* to, double factor) {
  std::int64_t sum = 0;
  if (picture.channels == 3) {
    sum = sum_grey(picture.data, picture.pixels());
  } else {
    for (std::int64_t i = 0; i < picture.bytes(); ++i)
      sum += picture.data[i];
  }
  const auto mean =
      static_cast<float>(static_cast<double>(sum) / static_cast<double>(picture.pixels()));
  scale_levels(picture.data, to, picture.bytes(), static_cast<float>(factor),
               mean * static_cast<float>(1.0 - factor));
}

void adjust_saturation(const Picture& picture, std::uint8_t* to, double factor) {
  if (picture.channels == 1) return copy(picture, to);
  saturate(picture.data, to, picture.pixels(), factor);
}

void adjust_hue(const Picture& picture, std::uint8_t* to, double shift) {
  if (picture.channels == 1) return copy(picture, to);
  turn_hue(picture.data, to, picture.pixels(), static_cast<float>(shift));
}

void adjust_sharpness(const Picture& picture, std::uint8_t* to, double factor) {
  copy(picture, to);
  const auto share = static_cast<float>(1.0 - factor);
  const std::int64_t row = picture.row_bytes();
  const std::int64_t across = picture.channels;
  for (std::int64_t y = 1; y + 1 < picture.height; ++y) {
    for (std::int64_t i = y * row + across; i < (y + 1) * row - across; ++i) {
      const std::uint8_t* at = picture.data + i;
      int sum = 4 * at[0];  // the middle weighs 5 of 13
      for (std::int64_t line = -row; line <= row; line += row)
        sum += at[line - across] + at[line] + at[line + across];
      const int smooth = (2 * sum + 13) / 26;  // no half can come up
      const auto difference = static_cast<float>(smooth - at[0]);
      to[i] = level(static_cast<float>(at[0]) + difference * share);
    }
  }
}

void posterize(const Picture& picture, std::uint8_t* to, int bits) {
  const auto kept = static_cast<std::uint8_t>(0xff00U >> std::clamp(bits, 0, 8));
  for (std::int64_t i = 0; i < picture.bytes(); ++i)
    to[i] = picture.data[i] & kept;
}

void solarize(const Picture& picture, std::uint8_t* to, double threshold) {
  Table table;
  for (int v = 0; v < 256; ++v) {
    table[static_cast<std::size_t>(v)] = static_cast<std::uint8_t>(
        static_cast<float>(v) >= static_cast<float>(threshold) ? 255 - v : v);
  }
  look_up(picture, table, to);
}

void autocontrast(const Picture& picture, std::uint8_t* to) {
  for (std::int64_t c = 0; c < picture.channels; ++c) {
    int least = 255;
    int most = 0;
    for (std::int64_t i = c; i < picture.bytes(); i += picture.channels) {
      least = std::min<int>(least, picture.data[i]);
      most = std::max<int>(most, picture.data[i]);
    }
    Table table;
    const float unit = static_cast<float>(most - least) * static_cast<float>(1.0 / 255.0);
    for (int v = 0; v < 256; ++v) {
      table[static_cast<std::size_t>(v)] = most <= least
                                               ? static_cast<std::uint8_t>(v)
                                               : level(static_cast<float>(v - least) / unit);
    }
    look_up(picture, c, table, to);
  }
}

void equalize(const Picture& picture, std::uint8_t* to) {
  for (std::int64_t c = 0; c < picture.channels; ++c)
    look_up(picture, c, equalized(histogram_of(picture, c), picture.pixels()), to);
}

}  // namespace headrace::inline v1::detail
