#pragma once

#include <headrace/loaders/volume/nnunet_fingerprint.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// A value with its share of a case's foreground.
struct SharedValue {
  float value = 0;
  float share = 0;
};

/// What a case's foreground is in a channel.
struct ForegroundFigures {
  std::int64_t count = 0;
  double mean = 0;
  double variance = 0;
  float min = 0;
  float max = 0;
  std::vector<SharedValue> values{};  ///< shares come to 1
};

/// Takes a case's foreground in a channel, voxel by voxel, and keeps at most `most` values. Not
/// thread-safe.
class ForegroundValues {
 public:
  /// `table`: the value of each code of 8 or 16 bits that a voxel may be stored as; empty where
  /// there are too many.
  ForegroundValues(std::size_t most, std::vector<float> table, std::uint64_t seed);

  bool coded() const noexcept { return !table_.empty(); }
  void add_code(std::size_t code) {
    ++counts_[code];
    count_in(table_[code]);
  }
  void add(float value) {
    count_in(value);
    keep(value);
  }

  /// Empties itself.
  ForegroundFigures figures();

 private:
  void count_in(float value) noexcept;
  void keep(float value);

  std::size_t most_;
  std::vector<float> table_;
  std::vector<std::uint64_t> counts_;  // of each code
  std::vector<float> kept_;            // of what came as a value, drawn evenly
  std::uint64_t offered_ = 0;          // to kept_
  std::mt19937_64 random_;
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // of distances from the mean
  float min_ = 0;
  float max_ = 0;
};

/// A channel's intensity over all cases with foreground, each with the same weight; takes the
/// values. There must be one.
NnUNetForegroundValues intensity_of(std::span<ForegroundFigures*> cases);

}  // namespace headrace::inline v1::detail
