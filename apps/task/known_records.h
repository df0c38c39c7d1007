#pragma once

#include <headrace/apps/task/data_set.h>
#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where a record lies.
struct RecordPlace {
  std::string name{};                ///< path below its root; of a table its dataset
  std::vector<std::string> files{};  ///< whole paths; none: nobody knows
  std::uint64_t bytes = 0;           ///< of these files
  std::int64_t row = -1;             ///< in a file that records share; -1: it has its own
};

/// Records by number from 0; place() is called by any thread.
struct PlacedList {
  std::size_t size = 0;
  std::function<RecordPlace(std::size_t)> place{};
};

/// These records of a source that `set` names.
PlacedList placed_list(std::shared_ptr<const LabelledSource> source, const DataSet& set,
                       std::vector<std::int64_t> rows);

/// These rows of a file that all share; `name` is that of their dataset.
PlacedList placed_rows(const std::filesystem::path& file, std::string name,
                       std::vector<std::int64_t> rows);

/// What a member of a run has done with a record.
enum class RecordUse : char { learnt = 't', chose = 'v', none = '-' };

/// How the records of a run are known again wherever they lie later: by path below their root,
/// size, and a sample of their contents.
struct KnownRecords {
  /// Bytes of contents that samples may take, spread evenly; others are known by path and size.
  static constexpr std::uint64_t most_sampled = 1ULL << 30;

  /// Rows of a table.
  struct Shared {
    std::string name{};
    std::uint64_t bytes = 0;
    std::uint64_t sample = 0;
    std::string uses{};  ///< a RecordUse for each row
  };

  headrace::detail::FileTable files{};   ///< names and sizes of those with files of their own
  std::vector<std::uint64_t> samples{};  ///< of each; 0: was not taken
  std::string uses{};                    ///< a RecordUse of each
  std::vector<Shared> shared{};

  /// Adds records of one use. Files that cannot be read are known by path and size.
  void add(const PlacedList& records, RecordUse use);
  /// Throws ResourceError where it cannot be written.
  void write(const std::filesystem::path& file) const;
  /// None where there is no such file. Throws DataError for one that is broken.
  static std::optional<KnownRecords> read(const std::filesystem::path& file);
};

/// How many records of some data a run has seen before.
struct SeenRecords {
  std::int64_t records = 0;  ///< that were looked at
  std::int64_t learnt = 0;   ///< any member has learnt from them
  std::int64_t by_name = 0;  ///< of these: by path and size alone
  std::int64_t chose = 0;    ///< of the others: they chose a member's weights
};

/// Of `judged`, whose contents are sampled in parallel.
SeenRecords seen_records(const std::vector<KnownRecords>& members, const PlacedList& judged);

}  // namespace headrace::inline v1::app
