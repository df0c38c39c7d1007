#pragma once

#include <headrace/augment/spectrogram/spec_augment.h>
#include <headrace/engine/base/random.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// What is drawn for a plane, as int32 values end to end: frames, warp's point and where it goes
/// (both 0: none), then start and width of each frequency mask, then of each time mask.
struct SpecMasks {
  static constexpr std::int64_t header = 3;

  static std::int64_t values(const SpecAugment& how) {
    return header + 2 * (std::int64_t{how.frequency_masks} + how.time_masks);
  }
};

/// Draws for one plane of `bins` x `frames` into SpecMasks::values(how) values.
void draw_spec_masks(const SpecAugment& how, std::int64_t bins, std::int64_t frames, Random& random,
                     std::span<std::int32_t> out);

}  // namespace headrace::inline v1::detail
