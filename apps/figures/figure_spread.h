#pragma once

#include <headrace/apps/figures/fold_outcome.h>

#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Mean over members and their standard deviation, that of a sample (n - 1).
struct FigureSpread {
  double mean = 0.0;
  double deviation = 0.0;
};

/// Of each figure that every outcome has, of the validation or of the test. Empty below two.
std::map<std::string, FigureSpread> spread_of(const std::vector<FoldOutcome>& outcomes,
                                              std::map<std::string, double> FoldOutcome::*part);

}  // namespace headrace::inline v1::app
