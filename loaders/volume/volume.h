#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace headrace::inline v1 {

/// A place, an extent or a step on the axes channel, z, y, x, in that order; x lies fastest in
/// memory.
using VolumeIndex = std::array<std::int64_t, 4>;

/// Voxels [begin, end) of a volume.
struct VolumeBox {
  VolumeIndex begin{};
  VolumeIndex end{};

  VolumeIndex shape() const noexcept {
    return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2], end[3] - begin[3]};
  }
  bool empty() const noexcept {
    return end[0] <= begin[0] || end[1] <= begin[1] || end[2] <= begin[2] || end[3] <= begin[3];
  }
  friend bool operator==(const VolumeBox&, const VolumeBox&) = default;
};

/// Voxels, channels counted; 0 where an extent is not positive. Extents must be checked: the
/// product fits into 63 bits.
constexpr std::int64_t voxels_of(const VolumeIndex& shape) noexcept {
  for (std::int64_t extent : shape)
    if (extent <= 0) return 0;
  return shape[0] * shape[1] * shape[2] * shape[3];
}

/// What a file says of a volume.
struct VolumeInfo {
  VolumeIndex shape{1, 1, 1, 1};
  /// The box that is read and decoded at once; every file is cut into such blocks from voxel 0 on,
  /// and those on the far edges may reach beyond the volume.
  VolumeIndex block{1, 1, 1, 1};
  DType dtype = DType::uint8;  ///< of the stored voxels
  /// A voxel's value is stored * scale + offset.
  double scale = 1.0;
  double offset = 0.0;
  /// Millimetres from a voxel to the next along z, y, x; 1 where the file does not tell.
  std::array<double, 3> spacing{1.0, 1.0, 1.0};
  /// Three rows of four: from voxel numbers (x, y, z, 1) to millimetres (right, anterior,
  /// superior), as NIfTI's sform.
  std::array<double, 12> affine{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

  std::size_t block_bytes() const noexcept {
    return static_cast<std::size_t>(voxels_of(block)) * size_of(dtype);
  }
  /// Blocks along each axis.
  VolumeIndex grid() const noexcept {
    VolumeIndex count{};
    for (std::size_t axis = 0; axis < 4; ++axis)
      count[axis] = (shape[axis] + block[axis] - 1) / block[axis];
    return count;
  }
};

class BlockCache;

/// A file of voxels, whatever its format, read block by block. Opened and checked when it is made.
/// Const and thread-safe. Files are not trusted and never mapped.
class HEADRACE_API Volume {
 public:
  virtual ~Volume() = default;
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  const VolumeInfo& info() const noexcept { return info_; }
  /// The file as messages name it, with the dataset inside it where it has several.
  const std::string& name() const noexcept { return name_; }

  /// Decodes the block at that place of info().grid() into memory of info().block_bytes(), in the
  /// machine's byte order, x fastest. What of it lies outside the volume is left as it comes.
  /// Returns the bytes that it read of the file. Throws DataError naming the file (name()) and what
  /// is wrong.
  virtual std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const = 0;

  /// Memory that read_block() needs a call, besides `out`.
  virtual std::size_t working_bytes() const { return 0; }
  /// Whether reading a block of it reads blocks through that cache, by other volumes that it is
  /// made of. Its own blocks must not be kept there: one that is being made would wait for room
  /// that it holds itself.
  virtual bool reads_through(const BlockCache&) const noexcept { return false; }
  /// Memory that the volume holds itself: indexes of blocks.
  virtual std::size_t resident_bytes() const { return 0; }

 protected:
  Volume(VolumeInfo info, std::string name) : info_(info), name_(std::move(name)) {}

 private:
  VolumeInfo info_;
  std::string name_;
};

}  // namespace headrace::inline v1
