#include <headrace/apps/terminal/utc.h>

#include <cmath>
#include <cstdio>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::optional<std::tm> parts_of(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0.0 || seconds > 2.5e11) return std::nullopt;
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  return parts;
}

}  // namespace

std::string utc_time() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", *parts_of(static_cast<double>(std::time(nullptr))));
}

std::optional<double> parse_utc(std::string_view text) {
  std::tm parts{};
  double second = 0.0;
  int read = 0;
  const std::string copy(text.substr(0, 40));
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%lfZ%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &second, &read) != 6)
    return std::nullopt;
  const bool in_range = parts.tm_year >= 1970 && parts.tm_mon >= 1 && parts.tm_mon <= 12 &&
                        parts.tm_mday >= 1 && parts.tm_mday <= 31 && parts.tm_hour >= 0 &&
                        parts.tm_hour < 24 && parts.tm_min >= 0 && parts.tm_min < 60 &&
                        second >= 0.0 && second < 61.0;
  if (!in_range || read != static_cast<int>(text.size())) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) + second;
}

std::string shown_utc(double seconds) {
  const auto parts = parts_of(seconds);
  return parts ? fmt::format("{:%Y-%m-%d %H:%M:%S}", *parts) : std::string();
}

std::string clock_utc(double seconds) {
  const auto parts = parts_of(seconds);
  return parts ? fmt::format("{:%H:%M:%S}", *parts) : std::string();
}

}  // namespace headrace::inline v1::app
