#include <headrace/apps/figures/dice_table.h>
#include <headrace/apps/run/csv_table.h>
#include <headrace/apps/terminal/table.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string number(double value, int digits) {
  return std::isnan(value) ? "" : fmt::format("{:.{}f}", value, digits);
}

// Of what is a number.
class Mean {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const {
    return count_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / count_;
  }

 private:
  double sum_ = 0.0;
  int count_ = 0;
};

}  // namespace

void DiceTable::add(std::string name, const std::vector<ClassOverlap>& overlaps) {
  Row row{.name = std::move(name), .mean = mean_dice(overlaps)};
  for (std::size_t label = 1; label < overlaps.size(); ++label)
    row.dice.push_back(overlaps[label].dice());
  rows_.push_back(std::move(row));
}

DiceTable::Row DiceTable::mean() const {
  Row made{.name = "mean"};
  Mean of_cases;
  for (const Row& row : rows_)
    of_cases.add(row.mean);
  made.mean = of_cases.value();
  for (std::size_t i = 0; i + 1 < classes_.size(); ++i) {
    Mean of_class;
    for (const Row& row : rows_)
      of_class.add(row.dice.at(i));
    made.dice.push_back(of_class.value());
  }
  return made;
}

std::string DiceTable::text() const {
  std::vector<Table::Column> columns{{.heading = "case", .align = Align::left},
                                     {.heading = "Dice"}};
  for (std::size_t label = 1; label < classes_.size(); ++label)
    columns.push_back({.heading = classes_[label]});
  Table table(columns);
  const auto add = [&](const Row& row) {
    std::vector<std::string> cells{row.name, number(row.mean, 4)};
    for (const double dice : row.dice)
      cells.push_back(number(dice, 4));
    table.row(std::move(cells));
  };
  for (const Row& row : rows_)
    add(row);
  if (rows_.size() > 1) add(mean());
  return table.text();
}

std::string DiceTable::csv() const {
  std::string made = "case,mean";
  for (std::size_t label = 1; label < classes_.size(); ++label)
    made += ',' + csv_quoted(classes_[label]);
  made += '\n';
  for (const Row& row : rows_) {
    made += csv_quoted(row.name) + ',' + number(row.mean, 6);
    for (const double dice : row.dice)
      made += ',' + number(dice, 6);
    made += '\n';
  }
  return made;
}

}  // namespace headrace::inline v1::app
