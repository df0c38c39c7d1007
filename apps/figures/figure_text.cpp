#include <headrace/apps/figures/figure_text.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {

std::string figure_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string figure_text(double value) {
  const bool whole = std::trunc(value) == value && std::abs(value) < 1e15;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4f}", value);
}

}  // namespace headrace::inline v1::app
