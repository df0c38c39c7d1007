#include <headrace/engine/base/error.h>
#include <headrace/loaders/audio/resample.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

namespace headrace::inline v1 {
namespace {

constexpr double crossings = 6.0;
constexpr double rolloff = 0.99;
constexpr std::int64_t highest_rate = 1'000'000;
constexpr std::int64_t most_taps = 4LL << 20;

double windowed_sinc(double time) {
  if (std::abs(time) >= crossings) return 0.0;
  const double edge = std::cos(time * std::numbers::pi / crossings / 2.0);
  const double angle = time * std::numbers::pi;
  return (angle == 0.0 ? 1.0 : std::sin(angle) / angle) * edge * edge;
}

}  // namespace

Resampler::Resampler(std::int64_t from, std::int64_t to) : from_(from), to_(to) {
  if (from < 1 || to < 1 || from > highest_rate || to > highest_rate) {
    throw ConfigError("[resample] rates must lie in [1, 10^6] Hz, got " + std::to_string(from) +
                      " and " + std::to_string(to));
  }
  const std::int64_t common = std::gcd(from, to);
  from_ /= common;
  to_ /= common;
  if (from_ == to_) return;
  const double cut = static_cast<double>(std::min(from_, to_)) * rolloff;
  reach_ = static_cast<std::int64_t>(std::ceil(crossings * static_cast<double>(from_) / cut));
  const std::int64_t width = 2 * reach_ + 1;
  if (width * to_ > most_taps) {
    throw ConfigError("[resample] " + std::to_string(from) + " Hz to " + std::to_string(to) +
                      " Hz has little in common and needs " + std::to_string(width * to_) +
                      " taps, at most " + std::to_string(most_taps) +
                      " are allowed; choose a rate "
                      "that shares a factor");
  }
  taps_.resize(static_cast<std::size_t>(width * to_));
  const double scale = cut / static_cast<double>(from_);
  for (std::int64_t phase = 0; phase < to_; ++phase) {
    const std::int64_t middle = phase * from_ / to_;
    for (std::int64_t k = 0; k < width; ++k) {
      // In input samples, from the output's place to the tap's; exact until the last product.
      const std::int64_t away = (middle + k - reach_) * to_ - phase * from_;
      const double time = cut * static_cast<double>(away) / static_cast<double>(from_ * to_);
      taps_[static_cast<std::size_t>(phase * width + k)] =
          static_cast<float>(scale * windowed_sinc(time));
    }
  }
}

std::int64_t Resampler::samples(std::int64_t from) const noexcept {
  return (from * to_ + from_ - 1) / from_;
}

void Resampler::run(std::span<const float> from, std::span<float> to) const noexcept {
  if (from_ == to_) {
    std::copy(from.begin(), from.end(), to.begin());
    return;
  }
  const auto count = static_cast<std::int64_t>(from.size());
  const std::int64_t width = 2 * reach_ + 1;
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(to.size()); ++n) {
    const std::int64_t phase = n % to_;
    const std::int64_t first = n / to_ * from_ + phase * from_ / to_ - reach_;
    const float* taps = taps_.data() + phase * width;
    const std::int64_t begin = std::max<std::int64_t>(0, -first);
    const std::int64_t end = std::min(width, count - first);
    float sum = 0.0F;
    for (std::int64_t k = begin; k < end; ++k)
      sum += taps[k] * from[static_cast<std::size_t>(first + k)];
    to[static_cast<std::size_t>(n)] = sum;
  }
}

}  // namespace headrace::inline v1
