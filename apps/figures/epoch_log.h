#pragma once

#include <headrace/apps/run/csv_table.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// metrics.csv: what each epoch of each member came to. Of an epoch that was done twice, by a run
/// that went on from before it, the last counts.
class EpochLog {
 public:
  struct Row {
    std::int64_t member = 0;
    std::string stage{};  ///< empty where there are none
    std::int64_t epoch = 0;
    std::string bottleneck{};
    std::vector<double> values{};  ///< by column; not a number where there is none
  };

  EpochLog() = default;
  explicit EpochLog(const CsvTable& metrics);

  const std::vector<Row>& rows() const { return rows_; }
  bool empty() const { return rows_.empty(); }
  bool has(const std::string& column) const;
  /// Not a number where there is none.
  double value(const Row& row, const std::string& column) const;

  std::vector<std::int64_t> members() const;
  /// The rows of a member, by their places in rows().
  std::vector<std::size_t> rows_of(std::int64_t member) const;
  /// What is learnt, without "train_" and "val_": "loss", then the rest in the order of the
  /// columns.
  std::vector<std::string> figures() const;

 private:
  std::size_t column(const std::string& name) const;

  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace headrace::inline v1::app
