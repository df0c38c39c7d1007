#include <headrace/engine/base/internal/mix.h>
#include <headrace/engine/base/random.h>

#include <cmath>
#include <numbers>

namespace headrace::inline v1 {

namespace {

constexpr std::uint32_t low32(std::uint64_t x) noexcept {
  return static_cast<std::uint32_t>(x);
}
constexpr std::uint32_t high32(std::uint64_t x) noexcept {
  return static_cast<std::uint32_t>(x >> 32);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) noexcept {
  constexpr std::uint64_t m0 = 0xD2511F53;
  constexpr std::uint64_t m1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = m0 * counter[0];
    const std::uint64_t p1 = m1 * counter[2];
    counter = {high32(p1) ^ counter[1] ^ key[0], low32(p1), high32(p0) ^ counter[3] ^ key[1],
               low32(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Random::Random(const RandomKey& key) noexcept {
  const std::uint64_t name = detail::mix64(key.seed) ^ key.loader;
  const std::uint64_t mixed =
      detail::mix64(detail::mix64(name) ^ static_cast<std::uint64_t>(key.epoch));
  const auto position = static_cast<std::uint64_t>(key.position);
  key_ = {low32(mixed), high32(mixed)};
  counter_ = {0, key.operation, low32(position), (high32(position) & 0xffff) | (key.attempt << 16)};
}

void Random::refill() noexcept {
  block_ = philox4x32_10(counter_, key_);
  ++counter_[0];
  used_ = 0;
}

std::uint64_t Random::bits64() noexcept {
  const std::uint64_t low = (*this)();
  return low | static_cast<std::uint64_t>((*this)()) << 32;
}

double Random::uniform() noexcept {
  return static_cast<double>(bits64() >> 11) * 0x1p-53;
}

double Random::uniform(double low, double high) noexcept {
  const double value = low + (high - low) * uniform();
  return value < high ? value : std::nextafter(high, low);
}

// Lemire: "Fast Random Integer Generation in an Interval", ACM TOMACS 2019.
std::int64_t Random::below(std::int64_t n) noexcept {
  const auto range = static_cast<std::uint64_t>(n);
  detail::Product product = detail::multiply(bits64(), range);
  if (product.low < range) {
    const std::uint64_t threshold = (0 - range) % range;
    while (product.low < threshold)
      product = detail::multiply(bits64(), range);
  }
  return static_cast<std::int64_t>(product.high);
}

bool Random::chance(double p) noexcept {
  return uniform() < p;
}

double Random::normal() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace headrace::inline v1
