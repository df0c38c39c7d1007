#pragma once

#include <headrace/apps/report/text_lines.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A line of advice.jsonl.
struct AdviceCase {
  std::optional<double> at{};  ///< seconds since 1970
  std::string rule{};          ///< its name, and its number in docs/advice.md
  std::string severity{};
  std::string verdict{};
  std::vector<std::pair<std::string, std::string>> evidence{};
  std::string setting{};
  std::string old_value{};
  std::string new_value{};
  std::string action{};
  std::string effect{};
  std::string check{};
};

/// advice.jsonl, the first 200 lines.
struct AdviceCases {
  LineCount count{};
  std::vector<AdviceCase> first{};
};
AdviceCases read_advice(const std::filesystem::path& file);

/// A sample that could not be used, or a step that was not finite.
struct BadCase {
  std::string reason{};
  std::string where{};  ///< the sample or step, for a person
  std::string done{};   ///< what became of it
};

/// bad_samples.jsonl or bad_steps.jsonl: how often for which reason, and the first of them.
struct BadCases {
  static constexpr std::size_t most_listed = 25;
  static constexpr std::size_t most_reasons = 100;

  LineCount count{};
  std::map<std::string, std::uint64_t> reasons{};  ///< numbers in a reason are one "N"
  std::uint64_t other_reasons = 0;                 ///< cases of reasons that had no room
  std::vector<BadCase> first{};
};
BadCases read_bad_samples(const std::filesystem::path& file);
BadCases read_bad_steps(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
