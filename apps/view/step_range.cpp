#include <headrace/apps/view/step_range.h>

#include <charconv>

namespace headrace::inline v1::app {
namespace {

std::optional<std::int64_t> step_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

}  // namespace

std::optional<StepRange> parse_step_range(std::string_view text) {
  const auto dots = text.find("..");
  const auto first = step_number(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : step_number(text.substr(dots + 2));
  if (!first || !last || *last < *first) return std::nullopt;
  return StepRange{.first = *first, .last = *last};
}

}  // namespace headrace::inline v1::app
