#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/listing/labelled_rows.h>

#include <string>
#include <vector>

namespace headrace::inline v1 {

struct Hdf5RecordsOptions {
  std::string data{};  ///< dataset [records, ...]
  /// Dataset of whole numbers or names (strings) [records], the labels; or of flags, 0 or 1,
  /// [records, classes]. Empty: nothing is known of the records.
  std::string labels{};
  std::string field = "features";  ///< the rows' name in a sample
  /// Class names by label; empty: those of the attribute class_names of the labels or of the file,
  /// else "class0" and so on, up to the largest label, or of the flags' columns.
  std::vector<std::string> classes{};
  bool classes_fixed = false;  ///< by other data: an attribute that says others is refused
  /// Of flags: false: one-hot, exactly one in a row; true: any number of them.
  bool multi_label = false;
  std::string groups{};  ///< dataset of whole numbers or strings [records]; empty: none
  /// Without labels, of MATLAB: the shape of a record, where it is known. Rank 0: it is not.
  Shape record{};
  /// File, and how its rows are read; the fields are made here. Labels come on top of its memory.
  Hdf5TableOptions table{};
};

/// Records of an HDF5 file: a dataset of features, read as Hdf5Table reads it, and one of labels.
/// Fields: `field`, and "label" or "labels" as LabelledSource has them. The attribute class_names
/// is an array of strings, or one string with commas between the names. Strings are classes by
/// their bytes, in order.
///
/// What MATLAB (v7.3) wrote as [records, ...] lies in the file with its axes turned. It is turned
/// back in memory, twice its bytes of `table.memory`, where the labels (else `record`) say that
/// records are the last axis of the file; and is read as any other where they are the first.
class HEADRACE_API Hdf5Records final : public LabelledRows {
 public:
  /// Throws what Hdf5Table throws; ConfigError for datasets that do not fit together, are of
  /// another kind or could be turned either way, DataError naming the row of a label that cannot be
  /// right, ResourceError for what cannot be turned in the memory.
  explicit Hdf5Records(const Hdf5RecordsOptions& options);

  /// Of the features.
  const Hdf5Table& table() const noexcept { return *table_; }

 private:
  struct Opened;
  static Opened open(const Hdf5RecordsOptions& options);
  explicit Hdf5Records(Opened opened);

  std::shared_ptr<const Hdf5Table> table_;
};

}  // namespace headrace::inline v1
