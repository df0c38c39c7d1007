#include <headrace/benchmarks/camouflage/overlap.h>

#include <numeric>

namespace headrace::inline v1::bench {

namespace {

double ratio(std::int64_t both, std::int64_t either) {
  return either == 0 ? 0.0 : static_cast<double>(both) / static_cast<double>(either);
}

}  // namespace

double iou(std::span<const std::uint8_t> marked, const ObjectMask& mask) {
  std::int64_t both = 0;
  std::int64_t either = 0;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    both += marked[i] & mask.pixels[i];
    either += marked[i] | mask.pixels[i];
  }
  return ratio(both, either);
}

std::array<double, 256> iou_at_thresholds(std::span<const std::uint8_t> levels,
                                          const ObjectMask& mask) {
  std::array<std::array<std::int64_t, 2>, 256> counts{};
  std::int64_t object = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    ++counts[levels[i]][mask.pixels[i]];
    object += mask.pixels[i];
  }
  std::array<double, 256> ious{};
  std::int64_t both = 0;
  std::int64_t rest = 0;
  for (std::size_t threshold = 256; threshold-- > 0;) {
    rest += counts[threshold][0];
    both += counts[threshold][1];
    ious[threshold] = ratio(both, object + rest);
  }
  return ious;
}

int ThresholdAnswers::best_threshold() const {
  int best = 0;
  double best_mean = -1.0;
  for (int threshold = 0; threshold < 256; ++threshold) {
    const double mean = mean_of(ious(threshold));
    if (mean <= best_mean) continue;
    best = threshold;
    best_mean = mean;
  }
  return best;
}

std::vector<double> ThresholdAnswers::ious(int threshold) const {
  std::vector<double> values;
  for (const std::array<double, 256>& picture : of_picture_)
    values.push_back(picture[static_cast<std::size_t>(threshold)]);
  return values;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace headrace::inline v1::bench
