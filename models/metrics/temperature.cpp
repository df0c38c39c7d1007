#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/temperature.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace headrace::inline v1::models {

namespace {

double sigmoid(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

}  // namespace

double logit_of(double p) {
  constexpr double least = 1e-7;
  const double held = std::clamp(p, least, 1.0 - least);
  return std::log(held / (1.0 - held));
}

double tempered(double p, double temperature) {
  return sigmoid(logit_of(p) / temperature);
}

double fit_temperature(std::span<const double> logits, std::span<const std::uint8_t> labels) {
  if (logits.size() != labels.size())
    throw DataError("[temperature] there must be a label for each of " +
                    std::to_string(logits.size()) + " logits, got " +
                    std::to_string(labels.size()));
  if (std::ranges::any_of(logits, [](double z) { return !std::isfinite(z); }))
    throw DataError("[temperature] logits must be numbers, got one that is not");
  const auto ones = std::ranges::count_if(labels, [](std::uint8_t label) { return label != 0; });
  const auto zeros = static_cast<std::ptrdiff_t>(labels.size()) - ones;
  const bool both = ones > 0 && zeros > 0;
  if (!both || std::ranges::all_of(logits, [](double z) { return z == 0.0; })) return 1.0;
  const double of_one = static_cast<double>(ones + 1) / static_cast<double>(ones + 2);
  const double of_zero = 1.0 / static_cast<double>(zeros + 2);
  // The loss is convex in 1 / T: its slope rises.
  const auto slope = [&](double inverse) {
    double sum = 0.0;
    for (std::size_t i = 0; i < logits.size(); ++i)
      sum += (sigmoid(inverse * logits[i]) - (labels[i] != 0 ? of_one : of_zero)) * logits[i];
    return sum;
  };
  constexpr double most = 16.0;
  double low = 1.0 / most;
  double high = most;
  if (slope(low) >= 0.0) return most;
  if (slope(high) <= 0.0) return 1.0 / most;
  constexpr int halvings = 80;
  for (int i = 0; i < halvings; ++i) {
    const double middle = 0.5 * (low + high);
    (slope(middle) < 0.0 ? low : high) = middle;
  }
  return 2.0 / (low + high);
}

}  // namespace headrace::inline v1::models
