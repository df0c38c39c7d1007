#pragma once

#include <headrace/apps/config/fields.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// How records that come in one heap are divided: the section `data.split`.
struct SplitSettings {
  static constexpr double usual = 0.15;

  std::optional<double> validation{};  ///< share of the records; none: the usual
  std::optional<double> test{};        ///< likewise
  bool stratify = true;                ///< every part has the classes in the same shares
  std::string group{};                 ///< column, or pattern over names, of what is not divided
  int folds = 0;                       ///< a member for each of so many parts; 0: one member
  bool nested = false;                 ///< each fold is its member's test; else its validation
};

/// What a division looks at. Vectors are of one length, or empty where nothing is known.
struct SplitRecords {
  std::int64_t size = 0;
  std::vector<std::vector<std::int64_t>> classes{};  ///< of each record, none, one or several
  std::vector<std::int64_t> groups{};                ///< numbers from 0: never on both sides
};

/// Records of a member, ascending.
struct SplitParts {
  std::vector<std::int64_t> train{};
  std::vector<std::int64_t> validation{};
  std::vector<std::int64_t> test{};
};

/// Joins the groups of both records of every pair, and so of all that pairs link in a chain; a
/// record without a group was one by itself. For several reasons to keep records on one side.
void join_groups(SplitRecords& records,
                 const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs);

void describe(Fields& fields, SplitSettings& split);

/// Throws ConfigError for shares that leave nothing to train on.
void check(const SplitSettings& split);

/// A part for each of `shares` (of any sum, the first above 0; a share of 0 gets nothing): each has
/// its share of every class and of all records as nearly as groups allow, without groups within
/// one. Groups stay whole, the large ones are placed first; chance, a function of `seed`, decides
/// among equals. Records of each part ascend.
std::vector<std::vector<std::int64_t>> divide(const SplitRecords& records,
                                              const std::vector<double>& shares,
                                              std::uint64_t seed);

/// One member, or one for each fold of what is not for the test, whose validation it is; nested
/// folds are of all records, each the test of its member, and `validation` is a share of the
/// others. Throws DataError naming the way out where a part that is asked
/// for would be empty.
std::vector<SplitParts> split_records(SplitRecords records, const SplitSettings& split,
                                      std::uint64_t seed);

}  // namespace headrace::inline v1::app
