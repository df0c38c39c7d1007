#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace::inline v1::app {

/// Steps of a stage, numbered from 1; both ends belong to it.
struct StepRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

/// "100..120", or "7" for one step; nothing for what is none: below 1, backwards, a word.
std::optional<StepRange> parse_step_range(std::string_view text);

}  // namespace headrace::inline v1::app
