#pragma once

#include <headrace/apps/task/data_set.h>
#include <headrace/apps/task/split.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Records of one section, listed; nothing of their data is in memory.
struct RecordSet {
  std::shared_ptr<const LabelledSource> source{};
  std::size_t resident_bytes = 0;  ///< what load() will keep in memory
  /// The same records as they are trained on; empty: `source` is that.
  std::function<std::shared_ptr<const LabelledSource>()> load{};
};

/// The records of a task, listed and divided.
struct TaskRecords {
  RecordSet train{};
  RecordSet validation{};              ///< the same as `train` where it is a share of it
  RecordSet test{};                    ///< likewise
  std::vector<SplitParts> members{};   ///< rows of these, each of its own
  std::vector<std::int64_t> groups{};  ///< of those in `train`, which stay together; empty: none
  std::string copies{};                ///< Copies::digest() of those that are divided

  /// What load() will keep in memory of all.
  std::size_t resident_bytes() const;
};

/// The records of one section ("data.train"); `classes` are those that other data have fixed.
/// Throws what the sources throw; DataError where they have no labels, with `masks` no masks.
RecordSet open_set(const DataSet& set, const TaskData& data, const std::string& section, bool masks,
                   const std::vector<std::string>& classes = {});

/// Lists and divides. Throws what the sources throw; DataError where parts have other classes than
/// those to train on, or where a class has no record to train on; ConfigError where arrays differ.
TaskRecords open_records(const TaskData& data, bool masks, std::uint64_t seed);

/// "40 records, names 1a2b3c4d5e6f7a8b, labels 8b7a6f5e4d3c2b1a": changes where their number, order
/// or labels do, not where their files do, or lie.
std::string records_word(const LabelledSource& source);

/// 0 to its size.
std::vector<std::int64_t> all_rows(const LabelledSource& source);

/// At most so many of these rows, all the same distance apart.
std::vector<std::int64_t> evenly_spread(const std::vector<std::int64_t>& rows, std::size_t most);

/// Reads what is kept in memory.
void load(TaskRecords& records);

/// The label of each of these rows; -1 without one.
std::vector<std::int64_t> labels_at(const LabelledSource& source,
                                    const std::vector<std::int64_t>& rows);

/// How many records of each class there are among these rows; empty where there are no labels.
std::vector<std::int64_t> count_classes(const LabelledSource& source,
                                        const std::vector<std::int64_t>& rows);

}  // namespace headrace::inline v1::app
