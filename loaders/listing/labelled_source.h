#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/listing/data_split.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

namespace detail {
struct RecordValues;
}

/// A file below a folder.
struct RecordFile {
  std::string_view root{};  ///< canonical folder
  std::string_view path{};  ///< below it; empty: there is none
  std::uint64_t bytes = 0;  ///< when it was listed
};

/// Records with what is known of each: its class or classes, weight, group and split. Fields:
/// "label" (int64), or where records may have several classes "labels" (uint8 [classes], 0 or 1);
/// "weight" (float32) where weights are known.
class HEADRACE_API LabelledSource : public Source {
 public:
  /// Class names, by label; empty where there are no labels.
  const std::vector<std::string>& classes() const noexcept;
  /// -1 where there are no labels, or several a record.
  std::int64_t label(std::int64_t index) const noexcept;
  /// The label of every record, for Balanced orders and stratified folds; empty where there are
  /// none, or several a record.
  std::vector<std::int64_t> labels() const;
  /// Whether a record may have any number of classes.
  bool multi_label() const noexcept;
  /// A record's classes in rising order: its label where it has one alone, none where there are no
  /// labels.
  std::vector<std::int64_t> label_set(std::int64_t index) const;
  /// For Weighted orders; empty where there are none.
  std::vector<double> weights() const;
  /// For folds that keep a group (a patient, say) on one side: numbers from 0; empty where there
  /// are none.
  std::vector<std::int64_t> groups() const;
  const std::vector<std::string>& group_names() const noexcept;
  /// The part of the data that every record was given to; empty where nobody said.
  std::vector<DataSplit> splits() const;
  /// The file that a record, a picture say, has to itself; valid as long as the source. Default:
  /// none.
  virtual RecordFile file(std::int64_t index) const noexcept;
  /// That of its mask, likewise.
  virtual RecordFile mask_file(std::int64_t index) const noexcept;

 protected:
  /// What is known; lives as long as the source.
  virtual const detail::RecordValues& values() const noexcept = 0;
};

}  // namespace headrace::inline v1
