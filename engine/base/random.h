#pragma once

#include <headrace/engine/base/export.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

namespace headrace::inline v1 {

/// One block of Philox 4x32 with ten rounds: a bijection of the counter under the key (Salmon,
/// Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11). Pure; checked against
/// the published vectors.
HEADRACE_API std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                        std::array<std::uint32_t, 2> key) noexcept;

/// What one stream of draws belongs to. Packing into Philox (fixed; a test holds it):
/// key = 64 bits mixed from (seed, loader name, epoch); counter = (block of four draws, operation,
/// position bits 0-31, position bits 32-47 | attempt << 16).
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t loader = 0;  ///< hash_name(loader name)
  std::int64_t epoch = 0;
  std::int64_t position = 0;    ///< global position in the epoch, below 2^48
  std::uint32_t operation = 0;  ///< hash of the operation's name and occurrence
  std::uint32_t attempt = 0;    ///< 0, or the number of the replacement of a bad sample, below 2^16
};

/// FNV-1a, 64 bit: stable across platforms and releases.
constexpr std::uint64_t hash_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

/// Draws for one operation on one sample: a pure function of its key, so the same on every thread,
/// rank and machine. Satisfies std::uniform_random_bit_generator. Cheap to construct (no state to
/// seed); not shared between threads.
class HEADRACE_API Random {
 public:
  using result_type = std::uint32_t;

  Random() = default;
  explicit Random(const RandomKey& key) noexcept;

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }
  result_type operator()() noexcept {
    if (used_ == 4) refill();
    return block_[used_++];
  }

  /// 64 uniform bits.
  std::uint64_t bits64() noexcept;
  /// Uniform in [0, 1), 53 bits.
  double uniform() noexcept;
  /// Uniform in [low, high).
  double uniform(double low, double high) noexcept;
  /// Uniform integer in [0, n), unbiased; n must be positive.
  std::int64_t below(std::int64_t n) noexcept;
  /// True with probability p.
  bool chance(double p) noexcept;
  /// Standard normal (Box-Muller, both values used).
  double normal() noexcept;

 private:
  void refill() noexcept;

  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
  bool has_spare_ = false;
  double spare_ = 0.0;
};

}  // namespace headrace::inline v1
