#pragma once

#include <headrace/loaders/volume/detail/case/case_files.h>
#include <headrace/loaders/volume/nnunet_fingerprint.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <array>
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

/// What a case adds to a fingerprint.
struct CaseFingerprint {
  std::array<std::int64_t, 3> shape{};
  std::array<double, 3> spacing{};
  double relative_size = 1;
  std::vector<ForegroundFigures> channels{};
  std::vector<bool> has_value{};  ///< for each of NnUNetRaw::values()
  bool placed_together = true;    ///< channels and label have the same affine
};

/// The open files of a case, which fit together.
class OpenCase {
 public:
  /// Throws DataError naming case, file and rule; what open_volume() throws.
  explicit OpenCase(const NnUNetCase& of) : files_(of, "nnU-Net fingerprint") {}

  /// Bytes that look() needs.
  std::size_t bytes() const;
  /// Reads all voxels, a slice at a time. `values` are those that a label may have, 0, 1, 2 and so
  /// on; `most` values are kept of each channel, drawn by `seed`.
  CaseFingerprint look(std::size_t values, std::size_t most, std::uint64_t seed) const;

 private:
  CaseFiles files_;
};

}  // namespace headrace::inline v1::detail
