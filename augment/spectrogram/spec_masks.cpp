#include <headrace/augment/spectrogram/detail/spec_masks.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

struct SpecMask {
  std::int64_t start = 0;
  std::int64_t width = 0;
};

SpecMask draw_mask(SpecAugment::Rule rule, std::int64_t most, std::int64_t cells, Random& random) {
  if (rule == SpecAugment::Rule::paper) {
    const std::int64_t width = random.below(most + 1);
    return {random.below(cells - width + 1), width};
  }
  if (most < 1) return {};
  const double value = static_cast<double>(most) * random.uniform();
  const double start = (static_cast<double>(cells) - value) * random.uniform();
  return {static_cast<std::int64_t>(start), static_cast<std::int64_t>(value)};
}

std::int64_t widest_time_mask(const SpecAugment& how, std::int64_t frames) {
  if (frames < how.smallest_frames) return 0;
  auto cap = static_cast<std::int64_t>(how.time_share * static_cast<double>(frames));
  if (how.at_least_one_frame) cap = std::max<std::int64_t>(cap, 1);
  return std::min({how.time_width, cap, frames});
}

std::int32_t* store(SpecMask mask, std::int32_t* out) {
  out[0] = static_cast<std::int32_t>(mask.start);
  out[1] = static_cast<std::int32_t>(mask.width);
  return out + 2;
}

}  // namespace

void draw_spec_masks(const SpecAugment& how, std::int64_t bins, std::int64_t frames, Random& random,
                     std::span<std::int32_t> out) {
  out[0] = static_cast<std::int32_t>(frames);
  out[1] = out[2] = 0;
  const std::int64_t warp = how.time_warp;
  if (warp > 0 && frames > 2 * warp + 1) {
    const std::int64_t point = warp + 1 + random.below(frames - 2 * warp - 1);
    out[1] = static_cast<std::int32_t>(point);
    out[2] = static_cast<std::int32_t>(point - warp + random.below(2 * warp + 1));
  }
  std::int32_t* next = out.data() + SpecMasks::header;
  const std::int64_t tallest = std::min(how.frequency_width, bins);
  for (int i = 0; i < how.frequency_masks; ++i)
    next = store(draw_mask(how.rule, tallest, bins, random), next);
  const std::int64_t widest = widest_time_mask(how, frames);
  for (int i = 0; i < how.time_masks; ++i)
    next = store(draw_mask(how.rule, widest, frames, random), next);
}

}  // namespace headrace::inline v1::detail
