#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/flatten_sharpen.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {
namespace {

constexpr int most_block = 4096;
constexpr double most_factor = 16;
constexpr int middle_level = 128;

// Fraction bits of means, shares and factors.
constexpr int mean_bits = 7;
constexpr int share_bits = 8;
constexpr int factor_bits = 8;

/// Blocks along one axis.
struct Blocks {
  std::int64_t count = 1;
  std::int64_t size = 1;
  std::int64_t side = 1;

  Blocks(std::int64_t pixels, std::int64_t block)
      : count(std::max<std::int64_t>(1, (pixels + block / 2) / block)), size(block), side(pixels) {}

  std::int64_t first(std::int64_t i) const { return i * size; }
  std::int64_t end(std::int64_t i) const { return i + 1 == count ? side : (i + 1) * size; }
  /// In half pixels.
  std::int64_t middle(std::int64_t i) const { return first(i) + end(i); }
};

/// The two blocks whose middles enclose a pixel, and the second one's share.
struct BetweenBlocks {
  std::int64_t first;
  std::int64_t second;
  std::int32_t share;
};

BetweenBlocks between(std::int64_t pixel, const Blocks& blocks) {
  const std::int64_t place = 2 * pixel + 1;
  std::int64_t first = std::min(pixel / blocks.size, blocks.count - 1);
  if (place < blocks.middle(first)) --first;
  if (first < 0) return {0, 0, 0};
  if (first + 1 == blocks.count) return {first, first, 0};
  const std::int64_t from = blocks.middle(first);
  const std::int64_t span = blocks.middle(first + 1) - from;
  const std::int64_t share = (((place - from) << share_bits) + span / 2) / span;
  return {first, first + 1, static_cast<std::int32_t>(share)};
}

std::uint8_t level_of(std::int32_t value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

std::int32_t fixed(double factor) {
  return static_cast<std::int32_t>(std::lround(factor * (1 << factor_bits)));
}

/// Memory for one picture, of the thread.
struct Working {
  std::uint32_t* sums;       ///< of a row of blocks, for each value of a row
  std::int16_t* means;       ///< of a row of blocks, for each block and channel
  std::int16_t* background;  ///< for each row of blocks and value of a row
  std::uint8_t* levels;      ///< the picture before it is sharpened
};

/// Means of the blocks in row `row` of them.
void make_means(const detail::Picture& picture, const Blocks& high, const Blocks& wide,
                std::int64_t row, const Working& working) {
  const std::int64_t values = picture.row_bytes();
  std::fill_n(working.sums, values, 0U);
  for (std::int64_t y = high.first(row); y < high.end(row); ++y) {
    const std::uint8_t* from = picture.data + y * values;
    for (std::int64_t i = 0; i < values; ++i)
      working.sums[i] += from[i];
  }
  const std::int64_t channels = picture.channels;
  for (std::int64_t b = 0; b < wide.count; ++b) {
    const auto area = static_cast<std::uint64_t>((high.end(row) - high.first(row)) *
                                                 (wide.end(b) - wide.first(b)));
    for (std::int64_t c = 0; c < channels; ++c) {
      std::uint64_t sum = 0;
      for (std::int64_t x = wide.first(b); x < wide.end(b); ++x)
        sum += working.sums[x * channels + c];
      working.means[b * channels + c] =
          static_cast<std::int16_t>(((sum << mean_bits) + area / 2) / area);
    }
  }
}

/// The background along the middles of each row of blocks.
void make_background(const detail::Picture& picture, const Blocks& high, const Blocks& wide,
                     const Working& working) {
  const std::int64_t channels = picture.channels;
  std::int16_t* to = working.background;
  for (std::int64_t row = 0; row < high.count; ++row) {
    make_means(picture, high, wide, row, working);
    for (std::int64_t x = 0; x < picture.width; ++x) {
      const BetweenBlocks columns = between(x, wide);
      const std::int16_t* left = working.means + columns.first * channels;
      const std::int16_t* right = working.means + columns.second * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int32_t step = (right[c] - left[c]) * columns.share;
        constexpr std::int32_t half = 1 << (share_bits - 1);
        *to++ = static_cast<std::int16_t>(left[c] + ((step + half) >> share_bits));
      }
    }
  }
}

struct Levels {
  std::int32_t brightness;
  std::int32_t contrast;
};

/// A row without its background, then brighter and with more contrast.
void flatten_row(const std::uint8_t* from, const std::int16_t* upper, const std::int16_t* lower,
                 std::int32_t share, const Levels& levels, std::int64_t values, std::uint8_t* to) {
  constexpr int bits = mean_bits + share_bits;
  const std::int32_t rest = (1 << share_bits) - share;
  for (std::int64_t i = 0; i < values; ++i) {
    const std::int32_t background = upper[i] * rest + lower[i] * share;
    std::int32_t level =
        (((from[i] + middle_level) << bits) - background + (1 << (bits - 1))) >> bits;
    level = std::clamp(level, 0, 255);
    level = std::clamp(level + levels.brightness, 0, 255) - middle_level;
    level = (level * levels.contrast + (1 << (factor_bits - 1))) >> factor_bits;
    to[i] = level_of(level + middle_level);
  }
}

void flatten(const detail::Picture& picture, const Blocks& high, const Levels& levels,
             const Working& working) {
  const std::int64_t values = picture.row_bytes();
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const BetweenBlocks rows = between(y, high);
    flatten_row(picture.data + y * values, working.background + rows.first * values,
                working.background + rows.second * values, rows.share, levels, values,
                working.levels + y * values);
  }
}

void sharpen(const detail::Picture& picture, std::int32_t weight, std::uint8_t* to) {
  const std::int64_t values = picture.row_bytes();
  const std::int64_t channels = picture.channels;
  for (std::int64_t y = 0; y < picture.height; ++y, to += values) {
    const std::uint8_t* here = picture.data + y * values;
    const std::uint8_t* above = picture.data + detail::reflected(y - 1, picture.height) * values;
    const std::uint8_t* below = picture.data + detail::reflected(y + 1, picture.height) * values;
    const auto sharpened = [=](std::int64_t i, std::int64_t left, std::int64_t right) {
      const std::int32_t edge = 4 * here[i] - above[i] - below[i] - here[left] - here[right];
      return level_of(here[i] + ((edge * weight + (1 << (factor_bits - 1))) >> factor_bits));
    };
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t last = values - channels + c;
      to[c] = sharpened(c, c + channels, c + channels);
      to[last] = sharpened(last, last - channels, last - channels);
    }
    for (std::int64_t i = channels; i < values - channels; ++i)
      to[i] = sharpened(i, i - channels, i + channels);
  }
}

struct Sizes {
  std::size_t sums;
  std::size_t means;
  std::size_t background;
  std::size_t levels;
};

Sizes sizes_of(const detail::Picture& picture, int block) {
  const Blocks high(picture.height, block);
  const Blocks wide(picture.width, block);
  return {.sums = static_cast<std::size_t>(picture.row_bytes()),
          .means = static_cast<std::size_t>(wide.count * picture.channels),
          .background = static_cast<std::size_t>(high.count * picture.row_bytes()),
          .levels = static_cast<std::size_t>(picture.bytes())};
}

Working working_memory(const Sizes& sizes) {
  static thread_local detail::Scratch sums;
  static thread_local detail::Scratch means;
  static thread_local detail::Scratch background;
  static thread_local detail::Scratch levels;
  return {.sums = sums.reserve<std::uint32_t>(sizes.sums),
          .means = means.reserve<std::int16_t>(sizes.means),
          .background = background.reserve<std::int16_t>(sizes.background),
          .levels = levels.reserve<std::uint8_t>(sizes.levels)};
}

}  // namespace

Schema FlattenSharpen::schema(const Schema& in) const {
  const auto good = [](double factor) { return factor >= 0 && factor <= most_factor; };
  if (block < 2 || block > most_block || brightness < -255 || brightness > 255 || !good(contrast) ||
      !good(sharpness)) {
    throw ConfigError(
        "[flatten_sharpen] block must be 2 to 4096, brightness -255 to 255, contrast and sharpness "
        "0 to 16, got " +
        std::to_string(block) + ", " + std::to_string(brightness) + ", " +
        std::to_string(contrast) + " and " + std::to_string(sharpness));
  }
  const FieldSpec& image = detail::picture_field(in, field, name());
  if (image.shape[0] < 2 || image.shape[1] < 2) {
    throw ConfigError("[flatten_sharpen] picture must have 2 pixels along each side, got " +
                      to_string(image));
  }
  return in;
}

std::size_t FlattenSharpen::working_bytes(const Schema& in) const {
  const Shape& shape = detail::picture_field(in, field, name()).shape;
  const Sizes sizes =
      sizes_of({.height = shape[0], .width = shape[1], .channels = shape[2]}, block);
  return sizes.sums * sizeof(std::uint32_t) +
         (sizes.means + sizes.background) * sizeof(std::int16_t) + sizes.levels;
}

void FlattenSharpen::operator()(Sample& sample) const {
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  if (picture.height < 2 || picture.width < 2) {
    throw DataError("picture must have 2 pixels along each side, got " + to_string(from.shape()));
  }
  const Blocks high(picture.height, block);
  const Blocks wide(picture.width, block);
  const Working working = working_memory(sizes_of(picture, block));
  make_background(picture, high, wide, working);
  flatten(picture, high, {.brightness = brightness, .contrast = fixed(contrast)}, working);
  detail::Picture flat = picture;
  flat.data = working.levels;
  sharpen(flat, fixed(sharpness),
          sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>());
}

}  // namespace headrace::inline v1
