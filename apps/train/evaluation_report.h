#pragma once

#include <headrace/apps/train/reports.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What weights came to on labelled data.
struct EvaluationReport {
  struct Line {
    std::string member{};  ///< "fold-0"
    Figures figures{};
    Confusion confusion{};
  };

  std::filesystem::path data{};
  std::string split{};  ///< as it was asked for
  std::int64_t samples = 0;
  std::vector<Line> members{};
  std::optional<Line> vote{};  ///< of all members together
};

/// A table for a person: a row for each figure; of several members the mean, the lowest and the
/// highest of theirs, and the vote's where they voted.
std::string evaluation_text(const EvaluationReport& report);

/// All of it as JSON, with null for what is no number.
std::string evaluation_json(const EvaluationReport& report);

}  // namespace headrace::inline v1::app
