#pragma once

#include <headrace/apps/task/known_records.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run keeps beside the weights of each member: KnownRecords.
inline constexpr const char* known_records_file = "records.known";

/// A recipe that knows where its records lie.
class PlacedRecords {
 public:
  PlacedRecords() = default;
  PlacedRecords(const PlacedRecords&) = delete;
  PlacedRecords& operator=(const PlacedRecords&) = delete;
  virtual ~PlacedRecords() = default;

  /// These records of a split, after plan(), or of the test after test_on(); all of them where the
  /// recipe divides none.
  virtual PlacedList placed(training::Split split, std::vector<std::int64_t> records) const = 0;
  /// The part of the data that test_on() has taken: "test", "all" and the like.
  virtual std::string judged_part() const = 0;
};

}  // namespace headrace::inline v1::app
