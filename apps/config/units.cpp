#include <headrace/apps/config/units.h>

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 14> byte_units{{{"", 1},
                                           {"B", 1},
                                           {"KiB", 0x1p10},
                                           {"MiB", 0x1p20},
                                           {"GiB", 0x1p30},
                                           {"TiB", 0x1p40},
                                           {"KB", 1e3},
                                           {"kB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12},
                                           {"Ki", 0x1p10},
                                           {"Mi", 0x1p20},
                                           {"Gi", 0x1p30}}};

constexpr std::array<Unit, 7> time_units{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};

constexpr double longest_duration_s =
    100.0 * 365 * 86400;  // clocks know no more than three times that

struct Quantity {
  double number = 0.0;
  std::string_view unit;
};

std::optional<Quantity> split(std::string_view text) {
  Quantity quantity;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number,
                                            std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(quantity.number) || std::signbit(quantity.number))
    return std::nullopt;
  quantity.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (quantity.unit.starts_with(' '))
    quantity.unit.remove_prefix(1);
  return quantity;
}

template <std::size_t Count>
std::optional<double> factor_of(const std::array<Unit, Count>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

// Without a unit or a fraction every digit counts; a double would round beyond 2^53.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc{} || (!rest.empty() && rest != "B") || value > (1ull << 63))
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  if (const auto whole = whole_number(text)) return Bytes{*whole};
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  const auto factor = factor_of(byte_units, quantity->unit);
  if (!factor) return std::nullopt;
  const double bytes = std::round(quantity->number * *factor);
  if (bytes > 0x1p63) return std::nullopt;
  return Bytes{static_cast<std::uint64_t>(bytes)};
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  const auto factor = factor_of(time_units, quantity->unit);
  if (!factor) return std::nullopt;
  const double seconds = quantity->number * *factor;
  if (seconds > longest_duration_s) return std::nullopt;
  return Duration{seconds};
}

std::string format_exact(Bytes bytes) {
  constexpr std::array<std::string_view, 5> names{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::uint64_t value = bytes.value;
  while (value >= 1024 && value % 1024 == 0 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", value, names[unit]);
}

// A whole number in the largest unit that gives one; else the shortest text that reads back to the
// value.
std::string format_exact(Duration duration) {
  if (duration.seconds == 0) return "0s";
  std::string whole;
  std::string shortest;
  for (const Unit& unit : time_units) {
    const std::string number = fmt::format("{}", duration.seconds / unit.factor);
    const std::string text = number + std::string(unit.name);
    if (number.find('e') != std::string::npos || parse_duration(text) != duration) continue;
    if (number.find('.') == std::string::npos) whole = text;
    if (shortest.empty() || text.size() < shortest.size()) shortest = text;
  }
  if (!whole.empty()) return whole;
  return shortest.empty() ? fmt::format("{:.20f}s", duration.seconds) : shortest;
}

}  // namespace headrace::inline v1::app
