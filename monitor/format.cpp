#include <headrace/monitor/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

std::string three_figures(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < units.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{} {}", three_figures(value), units[unit]);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return fmt::format("-{}", format_seconds(-seconds));
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return fmt::format("{} us", three_figures(seconds * 1e6));
  if (seconds < 0.9995) return fmt::format("{} ms", three_figures(seconds * 1e3));
  if (seconds < 59.95) return fmt::format("{} s", three_figures(seconds));
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_rate(double per_second) {
  if (!std::isfinite(per_second)) return "unlimited";
  if (per_second < 999.5) return three_figures(per_second);
  if (per_second < 999.5e3) return three_figures(per_second / 1e3) + " k";
  if (per_second < 999.5e6) return three_figures(per_second / 1e6) + " M";
  return three_figures(per_second / 1e9) + " G";
}

std::string format_share(double share) {
  if (!std::isfinite(share)) return "unknown";
  const double percent = share * 100.0;
  return std::abs(percent) < 9.95 ? fmt::format("{:.1f} %", percent)
                                  : fmt::format("{:.0f} %", percent);
}

}  // namespace headrace::inline v1::monitor
