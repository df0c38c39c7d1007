#include <headrace/loaders/volume/detail/tiff/imagej_description.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

double unit_of(std::string_view name) noexcept {
  constexpr std::array<std::pair<std::string_view, double>, 10> units{{{"mm", 1.0},
                                                                       {"cm", 10.0},
                                                                       {"inch", 25.4},
                                                                       {"micron", 1e-3},
                                                                       {"microns", 1e-3},
                                                                       {"um", 1e-3},
                                                                       {"\\u00B5m", 1e-3},
                                                                       {"\xc2\xb5m", 1e-3},
                                                                       {"\xb5m", 1e-3},
                                                                       {"nm", 1e-6}}};
  const auto* known = std::ranges::find(units, name, &std::pair<std::string_view, double>::first);
  return known != units.end() ? known->second : 1.0;
}

template <class T>
void read_number(std::string_view text, T& to) noexcept {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && value > T{} && std::isfinite(static_cast<double>(value))) to = value;
}

void read_line(std::string_view key, std::string_view value, ImageJStack& stack) noexcept {
  if (key == "images") read_number(value, stack.images);
  if (key == "channels") read_number(value, stack.channels);
  if (key == "slices") read_number(value, stack.slices);
  if (key == "frames") read_number(value, stack.frames);
  if (key == "spacing") read_number(value, stack.spacing);
  if (key == "unit") stack.unit = unit_of(value);
}

}  // namespace

std::optional<ImageJStack> imagej_stack(std::string_view description) noexcept {
  if (!description.starts_with("ImageJ=")) return std::nullopt;
  ImageJStack stack;
  while (!description.empty()) {
    const std::size_t end = std::min(description.find('\n'), description.size());
    const std::string_view line = description.substr(0, end);
    description.remove_prefix(std::min(end + 1, description.size()));
    const std::size_t sign = line.find('=');
    if (sign != std::string_view::npos)
      read_line(line.substr(0, sign), line.substr(sign + 1), stack);
  }
  return stack;
}

}  // namespace headrace::inline v1::detail
