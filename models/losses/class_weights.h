#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::models {

/// One factor per class for a loss, from the number of samples of each: their inverse frequencies,
/// with mean one. Classes without samples get the weight of one sample. Throws `ConfigError`
/// without a sample.
HEADRACE_API std::vector<double> inverse_frequency_weights(std::span<const std::int64_t> counts);

/// The same by the effective number of samples, `(1 - beta) / (1 - beta^n)` with mean one, `beta`
/// in [0, 1): 0 weighs all alike, near 1 as inverse frequencies. Cui et al., "Class-Balanced Loss
/// Based on Effective Number of Samples", 2019. Throws `ConfigError` for another beta.
HEADRACE_API std::vector<double> effective_number_weights(std::span<const std::int64_t> counts,
                                                          double beta);

/// One factor per label for what is present in a binary cross entropy: negatives / positives of
/// `rows` rows, of which `positives` have each label; 1 for a label that no row or every row has.
HEADRACE_API std::vector<double> positive_weights(std::span<const std::int64_t> positives,
                                                  std::int64_t rows);

}  // namespace headrace::inline v1::models
