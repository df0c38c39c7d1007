#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/listing/labelled_rows.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct NpyTableOptions {
  std::filesystem::path features{};  ///< .npy file of an array [records, ...]
  /// .npy file of whole numbers [records], the labels; or of flags, 0 or 1, [records, classes].
  /// Empty: nothing is known of the records.
  std::filesystem::path labels{};
  std::string field = "features";  ///< the rows' name in a sample
  /// Class names by label; empty: "class0" and so on, up to the largest label, or of the flags'
  /// columns.
  std::vector<std::string> classes{};
  /// Of flags: false: one-hot, exactly one in a row; true: any number of them.
  bool multi_label = false;
  std::filesystem::path groups{};  ///< .npy file of whole numbers [records]; empty: none
  bool in_memory = true;           ///< false: rows are read from the file as they are wanted
};

/// An array of features and one of labels in NumPy's .npy format (NpyFile); row i of both is record
/// i. Fields: `field`, and "label" or "labels" as LabelledSource has them.
class HEADRACE_API NpyTable final : public LabelledRows {
 public:
  /// Throws ConfigError for files that are not there and for arrays that do not fit together, have
  /// no rows or are of another kind; DataError for a file that is broken, or naming the row of a
  /// label that cannot be right.
  explicit NpyTable(const NpyTableOptions& options);
};

}  // namespace headrace::inline v1
