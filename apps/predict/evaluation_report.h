#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/apps/task/known_records.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What weights came to on labelled data.
struct EvaluationReport {
  struct Line {
    std::string member{};  ///< "fold-0"; "vote", or the name of one way to decide
    Figures figures{};
    Confusion confusion{};
    std::int64_t nan = 0;     ///< records of which it says nothing
    std::string first_nan{};  ///< the first of these
  };

  std::filesystem::path data{};       ///< empty: the run's own
  std::string split{};                ///< the part that was judged
  std::optional<SeenRecords> seen{};  ///< of these; none: it is not known
  std::int64_t samples = 0;           ///< that count with one member at least
  std::int64_t unread = 0;            ///< records that could not be read: no figure knows them
  std::vector<Line> members{};
  std::vector<Line> votes{};  ///< of all members together, the way that decides first
};

/// A table for a person: a row for each figure; of several members the mean, the lowest and the
/// highest of theirs, and where they voted the vote's: of several ways to decide the first and
/// those that 100 columns have room for.
std::string evaluation_text(const EvaluationReport& report);

/// How many records the run had learnt from, as a sentence; empty: none, or it is not known.
std::string seen_text(const EvaluationReport& report);

/// All of it as JSON, with null for what is no number, "inf" and "-inf", and "no_numbers" where a
/// member says nothing of some records: "vote" has the figures of the way that
/// decides, and where there are several "votes" lists all, with their confusion matrices.
std::string evaluation_json(const EvaluationReport& report);

}  // namespace headrace::inline v1::app
