#include <headrace/augment/clahe.h>
#include <headrace/augment/detail/lab.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/scratch.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace headrace::inline v1 {
namespace {

constexpr std::int64_t grey_levels = 256;
constexpr int most_tiles = 64;

using Histogram = std::array<std::int32_t, grey_levels>;

/// One channel of packed pixels.
struct Plane {
  std::uint8_t* data;
  std::int64_t height;
  std::int64_t width;
  std::int64_t step;
};

/// Tiles along one axis, as OpenCV lays them: where one axis does not divide, both are extended.
struct Tiles {
  std::int64_t count;
  std::int64_t size;
};

/// Half to even, for 0 <= v < 2^22: there the sum's last bit is a whole.
std::uint8_t nearest(float v) {
  return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(v + 12582912.0F));
}

std::int64_t reflected_at_end(std::int64_t i, std::int64_t size) {
  return i < size ? i : 2 * (size - 1) - i;
}

Histogram histogram_of(const Plane& plane, std::int64_t top, std::int64_t left, Tiles high,
                       Tiles wide) {
  Histogram counts{};
  for (std::int64_t y = top; y < top + high.size; ++y) {
    const std::uint8_t* row =
        plane.data + reflected_at_end(y, plane.height) * plane.width * plane.step;
    for (std::int64_t x = left; x < left + wide.size; ++x)
      ++counts[row[reflected_at_end(x, plane.width) * plane.step]];
  }
  return counts;
}

/// No bin above the limit; what is cut off is spread over all, the remainder at equal distances.
void clip(Histogram& counts, std::int32_t limit) {
  std::int32_t cut = 0;
  for (std::int32_t& count : counts) {
    cut += std::max(0, count - limit);
    count = std::min(count, limit);
  }
  std::int32_t rest = cut % grey_levels;
  for (std::int32_t& count : counts)
    count += cut / static_cast<std::int32_t>(grey_levels);
  if (rest == 0) return;
  const std::int32_t stride = std::max(static_cast<std::int32_t>(grey_levels) / rest, 1);
  for (std::int32_t i = 0; i < grey_levels && rest > 0; i += stride, --rest)
    ++counts[static_cast<std::size_t>(i)];
}

/// A level of each tile's table for every level.
void make_tables(const Plane& plane, Tiles high, Tiles wide, double clip_limit,
                 std::uint8_t* tables) {
  const std::int64_t area = high.size * wide.size;
  const float scale = 255.0F / static_cast<float>(area);
  const auto limit = static_cast<std::int32_t>(
      std::max<double>(1, std::floor(clip_limit * static_cast<double>(area) / grey_levels)));
  for (std::int64_t ty = 0; ty < high.count; ++ty) {
    for (std::int64_t tx = 0; tx < wide.count; ++tx) {
      Histogram counts = histogram_of(plane, ty * high.size, tx * wide.size, high, wide);
      if (clip_limit > 0) clip(counts, limit);
      std::int32_t sum = 0;
      for (std::int32_t count : counts) {
        sum += count;
        *tables++ = nearest(std::min(255.0F, static_cast<float>(sum) * scale));
      }
    }
  }
}

/// The two tiles whose centres enclose a pixel, and the second one's share.
struct BetweenTiles {
  std::int64_t first;
  std::int64_t second;
  float share;
};

BetweenTiles between(std::int64_t at, Tiles tiles) {
  const float place = static_cast<float>(at) * (1.0F / static_cast<float>(tiles.size)) - 0.5F;
  const auto first = static_cast<std::int64_t>(std::floor(place));
  return {std::max<std::int64_t>(first, 0), std::min(first + 1, tiles.count - 1),
          place - static_cast<float>(first)};
}

void look_up(const Plane& plane, Tiles high, Tiles wide, const std::uint8_t* tables,
             BetweenTiles* columns) {
  for (std::int64_t x = 0; x < plane.width; ++x) {
    columns[x] = between(x, wide);
    columns[x].first *= grey_levels;
    columns[x].second *= grey_levels;
  }
  for (std::int64_t y = 0; y < plane.height; ++y) {
    const BetweenTiles rows = between(y, high);
    const std::uint8_t* upper = tables + rows.first * wide.count * grey_levels;
    const std::uint8_t* lower = tables + rows.second * wide.count * grey_levels;
    std::uint8_t* at = plane.data + y * plane.width * plane.step;
    for (std::int64_t x = 0; x < plane.width; ++x, at += plane.step) {
      const BetweenTiles& column = columns[x];
      const auto across = [&](const std::uint8_t* row) {
        return static_cast<float>(row[column.first + *at]) * (1.0F - column.share) +
               static_cast<float>(row[column.second + *at]) * column.share;
      };
      const float value = across(upper) * (1.0F - rows.share) + across(lower) * rows.share;
      *at = nearest(value);
    }
  }
}

}  // namespace

Schema Clahe::schema(const Schema& in) const {
  const auto good = [](int tiles) { return tiles >= 1 && tiles <= most_tiles; };
  if (!(clip_limit >= 0 && clip_limit <= 1e6) || !good(tiles_high) || !good(tiles_wide)) {
    throw ConfigError("[clahe] clip_limit must be 0 or more and tiles 1 to 64, got " +
                      std::to_string(clip_limit) + ", " + std::to_string(tiles_high) + " x " +
                      std::to_string(tiles_wide));
  }
  const FieldSpec& image = detail::colour_field(in, field, name());
  if (image.shape[0] < 2 * tiles_high || image.shape[1] < 2 * tiles_wide) {
    throw ConfigError("[clahe] each tile must have 2 pixels along each side, got " +
                      std::to_string(tiles_high) + " x " + std::to_string(tiles_wide) +
                      " tiles for " + to_string(image));
  }
  return in;
}

std::size_t Clahe::working_bytes(const Schema& in) const {
  const FieldSpec& image = detail::colour_field(in, field, name());
  return static_cast<std::size_t>(tiles_high) * static_cast<std::size_t>(tiles_wide) * grey_levels +
         static_cast<std::size_t>(image.shape[1]) * sizeof(BetweenTiles);
}

void Clahe::operator()(Sample& sample) const {
  static thread_local detail::Scratch table_memory;
  static thread_local detail::Scratch column_memory;
  const Tensor from = sample[field];
  const detail::Picture picture = detail::colours_of(from, field);
  if (picture.height < 2 * tiles_high || picture.width < 2 * tiles_wide ||
      picture.pixels() > std::int64_t{1} << 30) {
    throw DataError("picture must have 2 pixels a tile along each side, got " +
                    to_string(from.shape()) + " for " + std::to_string(tiles_high) + " x " +
                    std::to_string(tiles_wide) + " tiles");
  }
  auto* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  if (picture.channels == 3) {
    detail::rgb_to_lab(picture.data, picture.pixels(), to);
  } else {
    std::memcpy(to, picture.data, from.bytes());
  }
  const Plane plane{to, picture.height, picture.width, picture.channels};
  const bool whole = picture.height % tiles_high == 0 && picture.width % tiles_wide == 0;
  const auto lay = [&](std::int64_t side, std::int64_t count) {
    return Tiles{count, whole ? side / count : (side + count - side % count) / count};
  };
  const Tiles high = lay(picture.height, tiles_high);
  const Tiles wide = lay(picture.width, tiles_wide);
  auto* tables = table_memory.reserve<std::uint8_t>(
      static_cast<std::size_t>(high.count * wide.count * grey_levels));
  make_tables(plane, high, wide, clip_limit, tables);
  look_up(plane, high, wide, tables,
          column_memory.reserve<BetweenTiles>(static_cast<std::size_t>(picture.width)));
  if (picture.channels == 3) detail::lab_to_rgb(to, picture.pixels(), to);
}

}  // namespace headrace::inline v1
