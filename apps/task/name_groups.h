#pragma once

#include <headrace/apps/task/data_set.h>
#include <headrace/apps/task/split.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// Who must not be on two sides of a split.
struct RecordGroups {
  std::vector<std::int64_t> numbers{};  ///< of each record, from 0; empty: no groups are known
  std::vector<std::string> names{};     ///< by number
};

/// Records by name: of a file its path, without its ending.
struct RecordNames {
  std::string source{};  ///< for messages
  std::int64_t size = 0;
  std::function<std::string(std::int64_t)> at{};
};

/// Whether data.split.group is a pattern over names, and no column: it has "<group>" in it.
bool is_group_pattern(const std::string& group);

/// A pattern over names: what stands for "<group>" is the name's group, "*" is anything, nothing
/// too, and "|" is between alternatives, of which the first that fits a name counts. Each takes as
/// little as it can, from the left, and no "/"; a pattern with n of them is of the last n folders
/// and the file. A match takes time as the name's length, whatever the pattern.
class GroupPattern {
 public:
  /// Throws ConfigError for an alternative without one "<group>", or where nothing stands between
  /// that and "*", so that a name could be read in several ways.
  explicit GroupPattern(const std::string& pattern);

  /// What of a name is the group, a view of it; empty: the name does not fit.
  std::string_view group_of(std::string_view name) const;

 private:
  struct Alternative {
    std::vector<std::string> words{};  ///< what stands before, between and after the wildcards
    std::size_t group = 0;             ///< which of the wildcards
    std::size_t folders = 0;
  };
  static Alternative parse(const std::string& text, const std::string& pattern);
  static std::string_view match(const Alternative& one, std::string_view name);

  std::vector<Alternative> alternatives_{};
};

/// Whether its records have names: files do, rows of one file do not.
bool has_names(const DataSet& set);

/// Throws ConfigError where data.split.group cannot be looked up in the data that are named.
void check_groups(const TaskData& data);

/// Columns of its list: that of data.split.group too, unless it is a pattern over names.
ManifestColumns columns_of(const DataSet& set, const SplitSettings& split);

RecordNames record_names(const LabelledSource& source);

/// Numbered in the order of their first records. Throws DataError where names do not fit, with
/// their count and one of them.
RecordGroups groups_by_name(const std::string& pattern, const RecordNames& names);

/// Those of a pattern of data.split.group, else those that the records have themselves.
RecordGroups groups_of(const LabelledSource& source, const SplitSettings& split);

/// Groups with records on several sides: how many, and one of them.
struct SharedGroups {
  std::int64_t count = 0;
  std::string example{};
};

/// Those that are in both, by name.
SharedGroups shared_groups(const RecordGroups& a, const RecordGroups& b);

/// Those that a division divides, which says of every record what it is for; empty: there is none.
SharedGroups divided_groups(const RecordGroups& groups, const std::vector<DataSplit>& sides);

/// What is judged, `section`, must have other groups than what is learnt. Throws DataError.
void require_other_groups(const RecordGroups& part, const RecordGroups& train,
                          const std::string& section);

}  // namespace headrace::inline v1::app
