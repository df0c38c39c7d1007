#pragma once

#include <headrace/loaders/volume/detail/case/case_files.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A box along z, y, x that grows around what is added.
struct GrowingBox {
  std::array<std::int64_t, 3> begin{};
  std::array<std::int64_t, 3> end{};

  bool empty() const noexcept { return end[0] == 0; }
  void add(std::int64_t z, std::int64_t y, std::int64_t x) noexcept {
    const std::array<std::int64_t, 3> at{z, y, x};
    const bool first = empty();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      begin[axis] = first ? at[axis] : std::min(begin[axis], at[axis]);
      end[axis] = std::max(end[axis], at[axis] + 1);
    }
  }
};

/// The values that a label may have.
struct LabelValues {
  std::vector<std::int64_t> values{};  ///< ascending
  std::string rule{};                  ///< "must ..., 0 to 2"
  std::string way_out{};               ///< "correct the label"
};

/// Reads the files of a case beside each other, a slice at a time, through a cache of its own, and
/// refuses voxels that are no number and labels of other values. Used by one thread.
class CaseSlices {
 public:
  CaseSlices(const CaseFiles& files, std::size_t cache_bytes, LabelValues values);

  /// Throws DataError naming case, file and rule.
  void read(std::int64_t z);

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t columns() const noexcept { return columns_; }
  std::size_t channels() const noexcept { return files_.channels(); }
  /// Of the slice that was read last, rows one behind the other.
  std::span<const float> values(std::size_t channel) const { return slices_[channel].values; }
  std::span<const std::byte> stored(std::size_t channel) const { return slices_[channel].stored; }
  bool foreground(std::size_t voxel) const { return slices_.back().values[voxel] > 0; }
  /// Whether all channels are 0.
  bool zero(std::size_t voxel) const noexcept {
    for (std::size_t channel = 0; channel < channels(); ++channel)
      if (slices_[channel].values[voxel] != 0) return false;
    return true;
  }
  /// For each of the values whether a label of the slices read so far has it.
  const std::vector<bool>& has_value() const noexcept { return has_value_; }

 private:
  struct Slice {
    std::vector<std::byte> stored{};
    std::vector<float> values{};
  };

  void check_values() const;
  void check_label();

  const CaseFiles& files_;
  LabelValues values_;
  std::vector<std::unique_ptr<CachedVolume>> volumes_;
  std::vector<Slice> slices_;
  std::vector<bool> has_value_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace headrace::inline v1::detail
