#include <headrace/apps/plot/axis.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// The smallest of 1, 2, 5, 10, ... times a power of ten that is no less.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1.0 - 1e-9)) return factor * power;
  return 10.0 * power;
}

}  // namespace

std::string Axis::label(double tick) const {
  const bool tiny = decimals > 5 || std::abs(high) >= 1e6;
  return tiny ? fmt::format("{:.3g}", tick) : fmt::format("{:.{}f}", tick, decimals);
}

Axis round_axis(double low, double high, int most) {
  // Beyond it a difference has no number, and below these shares a tick none of its own.
  constexpr double furthest = 1e300;
  constexpr double least_share = 1e-12;
  constexpr double least = 1e-290;
  low = std::clamp(low, -furthest, furthest);
  high = std::clamp(high, -furthest, furthest);
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > std::max(least_share * size, least))) {  // a constant in the middle
    const double room = std::max(std::abs(low) * 0.1, 1e-6);
    low -= room;
    high += room;
  }
  double step = round_step((high - low) / (most - 1));
  // Both ends reach out to a tick, which may need one more.
  while (std::ceil(high / step - 1e-9) - std::floor(low / step + 1e-9) > most - 1)
    step = round_step(step * 1.01);
  Axis axis{.decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)))};
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double k = first; k <= last; k += 1.0)
    axis.ticks.push_back(k * step);
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

}  // namespace headrace::inline v1::app
