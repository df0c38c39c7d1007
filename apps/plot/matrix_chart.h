#pragma once

#include <headrace/apps/plot/canvas.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Counts of cases by their true class (rows) and the class that was predicted.
struct MatrixChart {
  std::string title{};
  std::vector<std::vector<std::int64_t>> counts{};
  std::vector<std::string> names{};  ///< of the classes; empty: their numbers
};

/// Draws a confusion matrix into a box: a cell is as dark as its share of its row, with that share
/// and the count in it where there is room. Gives the height at which it ends.
double draw(Canvas& canvas, const Box& box, const MatrixChart& chart);

}  // namespace headrace::inline v1::app
