#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/memory_line.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

// Beyond it points lie on several lines.
constexpr double one_line = 0.01;

struct Coefficients {
  double base = 0.0;
  double per_row = 0.0;

  double at(std::int64_t rows) const { return base + per_row * static_cast<double>(rows); }
};

Coefficients least_squares(std::span<const MemoryPoint> points) {
  double rows = 0.0;
  double bytes = 0.0;
  for (const MemoryPoint& point : points) {
    rows += static_cast<double>(point.rows);
    bytes += static_cast<double>(point.bytes);
  }
  const auto count = static_cast<double>(points.size());
  rows /= count;
  bytes /= count;
  double both = 0.0;
  double squares = 0.0;
  for (const MemoryPoint& point : points) {
    const double x = static_cast<double>(point.rows) - rows;
    both += x * (static_cast<double>(point.bytes) - bytes);
    squares += x * x;
  }
  Coefficients line{.per_row = std::max(both / squares, 0.0)};
  line.base = std::max(bytes - line.per_row * rows, 0.0);
  return line;
}

double misfit_of(const Coefficients& line, std::span<const MemoryPoint> points) {
  double worst = 0.0;
  for (const MemoryPoint& point : points) {
    const auto bytes = static_cast<double>(point.bytes);
    worst = std::max(worst, std::abs(line.at(point.rows) - bytes) / std::max(bytes, 1.0));
  }
  return worst;
}

}  // namespace

MemoryLine::MemoryLine(std::span<const MemoryPoint> points, std::uint64_t base) {
  std::vector<MemoryPoint> sorted(points.begin(), points.end());
  std::ranges::sort(sorted, {}, &MemoryPoint::rows);
  if (sorted.empty()) throw ConfigError("[memory] a line needs a measured point, got none");
  if (sorted.size() == 1)
    sorted.insert(sorted.begin(),
                  MemoryPoint{.rows = 0, .bytes = std::min(base, sorted.front().bytes)});
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].rows == sorted[i - 1].rows)
      throw ConfigError(fmt::format(
          "[memory] points of a line must differ in their rows, got {} twice", sorted[i].rows));
  Coefficients line = least_squares(sorted);
  if (misfit_of(line, sorted) > one_line) line = least_squares(std::span(sorted).last(2));
  base_ = line.base;
  per_row_ = line.per_row;
  misfit_ = misfit_of(line, sorted);
}

std::uint64_t MemoryLine::at(std::int64_t rows) const {
  return static_cast<std::uint64_t>(std::llround(base_ + per_row_ * static_cast<double>(rows)));
}

std::optional<std::int64_t> MemoryLine::most_rows(std::uint64_t bytes) const {
  const auto room = static_cast<double>(bytes) - base_;
  if (room < per_row_ || room < 0.0) return std::nullopt;
  const double rows = per_row_ > 0.0 ? std::floor(room / per_row_) : 1e18;
  return static_cast<std::int64_t>(std::min(rows, 1e18));
}

}  // namespace headrace::inline v1::monitor
