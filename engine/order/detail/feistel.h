#pragma once

#include <headrace/engine/base/internal/mix.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// What one permutation is keyed by; `salt` keeps the permutations of one pass apart.
struct PermutationKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t pass = 0;
  std::uint64_t salt = 0;

  std::uint64_t mixed() const noexcept {
    const std::uint64_t a = mix64(mix64(seed) ^ static_cast<std::uint64_t>(epoch));
    return mix64(mix64(a ^ static_cast<std::uint64_t>(pass)) ^ salt);
  }
};

/// A permutation of [0, n), n >= 1, value by value: a modular Feistel network over a x b >= n, a
/// even, with cycle walking (Black & Rogaway: "Ciphers with Arbitrary Finite Domains", CT-RSA
/// 2002). An even a makes odd permutations reachable for every n. Small n take more rounds, for
/// there the round functions have few values to be random in.
class Feistel {
 public:
  Feistel(std::uint64_t n, const PermutationKey& key) noexcept : n_(n) {
    a_ = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
    while (a_ * a_ < n || a_ % 2 != 0)
      ++a_;
    b_ = (n + a_ - 1) / a_;
    pairs_ = n < 64 ? 12 : n < 4096 ? 6 : 3;
    std::uint64_t state = key.mixed();
    for (int round = 0; round < 2 * pairs_; ++round)
      keys_[index(round)] = state = mix64(state);
  }

  /// The image of one value.
  std::uint64_t operator()(std::uint64_t x) const noexcept { return walk({x % a_, x / a_}); }

  /// The images of first, first + 1, ...
  void operator()(std::uint64_t first, std::span<std::int64_t> out) const noexcept {
    Place place{first % a_, first / a_};
    for (std::int64_t& image : out) {
      image = static_cast<std::int64_t>(walk(place));
      if (++place.low == a_) place = {0, place.high + 1};
    }
  }

 private:
  /// A value as low + a * high.
  struct Place {
    std::uint64_t low;
    std::uint64_t high;
  };

  static constexpr std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

  static std::uint64_t round(std::uint64_t x, std::uint64_t key, std::uint64_t range) noexcept {
    x = (x ^ key) * 0xd6e8feb86659fd93ULL;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
    return scale(x, range);
  }

  static std::uint64_t add(std::uint64_t x, std::uint64_t y, std::uint64_t range) noexcept {
    const std::uint64_t sum = x + y;
    return sum < range ? sum : sum - range;
  }

  std::uint64_t walk(Place place) const noexcept {
    std::uint64_t value;
    do {
      for (int pair = 0; pair < pairs_; ++pair) {
        place.low = add(place.low, round(place.high, keys_[index(2 * pair)], a_), a_);
        place.high = add(place.high, round(place.low, keys_[index(2 * pair + 1)], b_), b_);
      }
      value = place.low + a_ * place.high;
    } while (value >= n_);
    return value;
  }

  std::uint64_t n_;
  std::uint64_t a_ = 0;
  std::uint64_t b_ = 0;
  int pairs_ = 0;
  std::array<std::uint64_t, 24> keys_{};
};

}  // namespace headrace::inline v1::detail
