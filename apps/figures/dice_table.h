#pragma once

#include <headrace/augment/volume/label_overlap.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// Dice of each class but the background of each case, and their mean.
class DiceTable {
 public:
  /// Names by label, the background first.
  explicit DiceTable(std::vector<std::string> classes) : classes_(std::move(classes)) {}

  /// As label_overlaps() counts.
  void add(std::string name, const std::vector<ClassOverlap>& overlaps);
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }

  /// A row for each case and one for the mean over them; what is in neither prediction nor label is
  /// left empty and counts in no mean.
  std::string text() const;
  /// The same without the last row: "case", "mean", then the classes.
  std::string csv() const;

 private:
  struct Row {
    std::string name{};
    double mean = 0.0;
    std::vector<double> dice{};
  };
  Row mean() const;

  std::vector<std::string> classes_;
  std::vector<Row> rows_;
};

}  // namespace headrace::inline v1::app
