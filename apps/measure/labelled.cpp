#include <headrace/apps/measure/labelled.h>
#include <headrace/apps/terminal/text_width.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {

std::string labelled(std::string_view label, std::string_view text, std::size_t columns) {
  constexpr std::size_t indent = 13;
  constexpr std::size_t least_columns = 40;
  std::string lines;
  for (const std::string& line : wrapped(text, std::max(columns, least_columns) - indent))
    lines += fmt::format("{:<{}}{}\n", lines.empty() ? label : "", indent, line);
  return lines;
}

}  // namespace headrace::inline v1::app
