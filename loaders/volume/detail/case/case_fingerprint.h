#pragma once

#include <headrace/loaders/volume/detail/case/case_files.h>
#include <headrace/loaders/volume/detail/foreground/foreground_values.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// What a case adds to a fingerprint.
struct CaseFingerprint {
  std::array<std::int64_t, 3> shape{};
  std::array<double, 3> spacing{};
  double relative_size = 1;
  std::vector<ForegroundFigures> channels{};
  std::vector<bool> has_value{};  ///< for each of NnUNetRaw::values()
  bool placed_together = true;    ///< image and label have the same affine
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
