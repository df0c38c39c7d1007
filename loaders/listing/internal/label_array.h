#pragma once

#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Labels of records in one array: whole numbers [records], or flags, 0 or 1, [records, classes].
struct LabelArray {
  std::string name{};                ///< its file, or file and dataset, for messages
  Tensor values{};                   ///< of any number type
  std::vector<std::string> texts{};  ///< in its place: a name for each record
  /// Names by label; empty: "class0", "class1" and so on, up to the largest label or of all
  /// columns.
  std::vector<std::string> classes{};
  /// Of flags: false: one-hot, exactly one 1 in a row; true: any number of them.
  bool multi_label = false;
};

/// Makes the classes and labels of `values` of an array. Throws ConfigError for an array of another
/// kind or of more classes than there are names, DataError naming the row of a label that cannot be
/// right.
void take_labels(RecordValues& values, const LabelArray& labels);

/// The same of groups: whole numbers [records] or texts.
void take_groups(RecordValues& values, const LabelArray& groups);

/// The fields that `values` gives a sample, for all of its labels: a row a record. Undefined where
/// there are no labels.
Tensor label_rows(const RecordValues& values);

}  // namespace headrace::inline v1::detail
