#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/log.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What is done about records that are copies of others.
enum class Duplicates : unsigned char { group, error, allow };

/// Keys of the section `data`.
struct DuplicateSettings {
  Duplicates rule = Duplicates::group;
  double within = 2.0;  ///< minutes that looking may take; 0: as long as it takes
};

void describe(Fields& fields, DuplicateSettings& duplicates);

/// Where a record is.
enum class Side : unsigned char { training, validation, test };

/// A list of records among which copies are looked for.
struct CopyList {
  Side side = Side::training;  ///< of all its records
  std::string place{};         ///< where they lie
  std::vector<Side> sides{};   ///< of each, where the data say it
  std::size_t size = 0;
  std::function<std::uint64_t(std::size_t)> bytes{};             ///< of its files; 0: it has none
  std::function<std::vector<std::string>(std::size_t)> files{};  ///< whole paths
  std::function<std::string(std::size_t)> name{};                ///< for messages
  std::function<std::string(std::size_t)> label{};  ///< by which copies must agree, with a word
};

/// Records that have files of their own; others are no copies of anything.
CopyList copy_list(Side side, std::shared_ptr<const LabelledSource> source);

/// Records that are copies, in lists that are taken end to end.
class Copies {
 public:
  using Sets = std::vector<std::vector<std::size_t>>;

  /// Looks for them, unless they are allowed. Sums are kept in the folder `listings`, if there is
  /// one. Throws ResourceError.
  Copies(std::vector<CopyList> lists, const DuplicateSettings& settings,
         const std::filesystem::path& listings, std::stop_token stop = {});
  /// Those that somebody has found.
  Copies(std::vector<CopyList> lists, Sets sets);

  /// Of the first list's records, for join_groups().
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs() const;
  /// Of copies in the first list, for who must know whether they are others; empty: it has none.
  std::string digest() const;

  using Line = std::pair<headrace::LogLevel, std::string>;
  /// What a person is told: how many copies, on two sides, with different labels, with an example;
  /// and why they were not looked for.
  std::vector<Line> lines() const;
  /// Tells the lines. Throws DataError with them where copies are an error.
  void tell() const;

 private:
  struct Told {
    std::size_t count = 0;
    std::string example{};
  };

  struct Place {
    const CopyList& list;
    std::size_t record = 0;
  };

  Place place_of(std::size_t record) const;
  std::string said(std::size_t record, const std::vector<Side>& sides) const;
  std::vector<Side> sides() const;
  Told across(const std::vector<Side>& sides) const;
  Told beside(const std::vector<Side>& sides) const;  // on one side with their copy
  Told labelled_otherwise() const;

  std::vector<CopyList> lists_;
  DuplicateSettings settings_{};
  Sets sets_;
  std::size_t compared_ = 0;
  double forecast_s_ = 0.0;
};

}  // namespace headrace::inline v1::app
