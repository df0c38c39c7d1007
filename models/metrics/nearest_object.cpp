#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/nearest_object.h>

#include <algorithm>
#include <string>

namespace headrace::inline v1::models {

namespace {

constexpr std::int32_t none = -1;

// A column's nearest pixel as a row sees it.
struct Site {
  std::int64_t column;
  std::int64_t height;  // squared distance within the column
  std::int32_t row;

  std::int64_t squared_distance(std::int64_t to) const {
    return (to - column) * (to - column) + height;
  }
};

// Whether `middle` is nowhere on the row as near as `left` or `right`.
bool is_hidden(const Site& left, const Site& middle, const Site& right) {
  const std::int64_t a = middle.column - left.column;
  const std::int64_t b = right.column - middle.column;
  const std::int64_t c = a + b;
  return c * middle.height - b * left.height - a * right.height - a * b * c > 0;
}

// Leaves in each place's row the nearest of its column, or none.
void search_columns(std::span<const std::uint8_t> mask, SaliencySize size,
                    std::vector<PixelPlace>& nearest) {
  const auto width = static_cast<std::size_t>(size.width);
  std::vector<std::int32_t> last(width, none);
  for (std::int32_t row = 0; row < size.height; ++row) {
    const std::size_t first = static_cast<std::size_t>(row) * width;
    for (std::size_t column = 0; column < width; ++column) {
      if (mask[first + column] != 0) last[column] = row;
      nearest[first + column].row = last[column];
    }
  }
  last.assign(width, none);
  for (auto row = static_cast<std::int32_t>(size.height); row-- > 0;) {
    const std::size_t first = static_cast<std::size_t>(row) * width;
    for (std::size_t column = 0; column < width; ++column) {
      if (mask[first + column] != 0) last[column] = row;
      std::int32_t& above = nearest[first + column].row;
      const std::int32_t below = last[column];
      if (below != none && (above == none || below - row < row - above)) above = below;
    }
  }
}

// From the nearest of each column to the nearest of all, in one row.
void search_row(std::int64_t row, std::span<PixelPlace> places, std::vector<Site>& sites) {
  sites.clear();
  for (std::size_t column = 0; column < places.size(); ++column) {
    const std::int32_t found = places[column].row;
    if (found == none) continue;
    const std::int64_t away = found - row;
    const Site site{static_cast<std::int64_t>(column), away * away, found};
    while (sites.size() > 1 && is_hidden(sites.end()[-2], sites.back(), site))
      sites.pop_back();
    sites.push_back(site);
  }
  auto site = sites.begin();
  for (std::size_t column = 0; column < places.size(); ++column) {
    const auto x = static_cast<std::int64_t>(column);
    while (site + 1 != sites.end() && site[1].squared_distance(x) < site->squared_distance(x))
      ++site;
    places[column] = {site->row, static_cast<std::int32_t>(site->column)};
  }
}

}  // namespace

std::vector<PixelPlace> nearest_object(std::span<const std::uint8_t> mask, SaliencySize size) {
  if (static_cast<std::int64_t>(mask.size()) != size.height * size.width)
    throw DataError("[nearest_object] a mask of " + std::to_string(size.height) + " x " +
                    std::to_string(size.width) + " was expected, got " +
                    std::to_string(mask.size()) + " pixels");
  if (std::ranges::all_of(mask, [](std::uint8_t value) { return value == 0; }))
    throw DataError("[nearest_object] a mask must have a pixel that is not 0");
  std::vector<PixelPlace> nearest(mask.size());
  search_columns(mask, size, nearest);
  const auto width = static_cast<std::size_t>(size.width);
  std::vector<Site> sites;
  sites.reserve(width);
  for (std::int64_t row = 0; row < size.height; ++row) {
    const std::span places =
        std::span(nearest).subspan(static_cast<std::size_t>(row) * width, width);
    search_row(row, places, sites);
  }
  return nearest;
}

}  // namespace headrace::inline v1::models
