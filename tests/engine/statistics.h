#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace headrace::test {

/// How many standard deviations Pearson's chi-square of the counts lies above its mean; `shares`
/// need not sum to one. Above 5 the counts do not come from the shares.
inline double chi_square_excess(const std::vector<std::int64_t>& counts,
                                const std::vector<double>& shares) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0LL));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  double chi_square = 0;
  double freedom = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (shares[i] == 0) continue;
    const double expected = total * shares[i] / sum;
    const double off = static_cast<double>(counts[i]) - expected;
    chi_square += off * off / expected;
    freedom += 1;
  }
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

/// The same against equal shares.
inline double chi_square_excess(const std::vector<std::int64_t>& counts) {
  return chi_square_excess(counts, std::vector<double>(counts.size(), 1.0));
}

}  // namespace headrace::test
