#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// Changes the sample rate of a waveform by a windowed sinc: six zero crossings under a squared
/// cosine, cut off at .99 of the lower half rate, silence beyond both ends, as torchaudio's
/// `resample` with its defaults. Const calls may run at once.
class HEADRACE_API Resampler {
 public:
  /// Rates in Hz. Throws ConfigError for rates outside [1, 10^6] and for pairs whose filters would
  /// take more than 16 MiB.
  Resampler(std::int64_t from, std::int64_t to);

  /// Samples that come of so many.
  std::int64_t samples(std::int64_t from) const noexcept;
  /// `to` has samples(from.size()) places.
  void run(std::span<const float> from, std::span<float> to) const noexcept;

 private:
  std::int64_t from_;  ///< both divided by what they have in common
  std::int64_t to_;
  std::int64_t reach_ = 0;   ///< of a filter, either way
  std::vector<float> taps_;  ///< a filter for each of `to_` phases
};

}  // namespace headrace::inline v1
