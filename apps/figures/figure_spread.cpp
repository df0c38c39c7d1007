#include <headrace/apps/figures/figure_spread.h>

#include <cmath>

namespace headrace::inline v1::app {
namespace {

FigureSpread spread_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  for (const double value : values)
    sum += value;
  const double mean = sum / count;
  double squares = 0.0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return {.mean = mean, .deviation = std::sqrt(squares / (count - 1.0))};
}

}  // namespace

std::map<std::string, FigureSpread> spread_of(const std::vector<FoldOutcome>& outcomes,
                                              std::map<std::string, double> FoldOutcome::*part) {
  std::map<std::string, FigureSpread> spreads;
  if (outcomes.size() < 2) return spreads;
  for (const auto& [name, first] : outcomes.front().*part) {
    std::vector<double> values;
    for (const FoldOutcome& outcome : outcomes) {
      const auto found = (outcome.*part).find(name);
      if (found != (outcome.*part).end()) values.push_back(found->second);
    }
    if (values.size() == outcomes.size()) spreads.emplace(name, spread_of(values));
  }
  return spreads;
}

}  // namespace headrace::inline v1::app
