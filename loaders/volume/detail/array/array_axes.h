#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/volume.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// What `call` gives; a DataError of it, which says the rule alone, then names the volume.
template <class Call>
auto named(const std::string& volume, const Call& call) {
  try {
    return call();
  } catch (const DataError& error) {
    throw DataError("[volume] " + volume + ": " + error.what());
  }
}

/// Which axis of a volume each axis of a stored array is.
class ArrayAxes {
 public:
  static constexpr std::size_t most_rank = 5;

  /// The last four are channel, z, y, x; one before them must have one element. Throws DataError
  /// with the rule alone, as the next.
  explicit ArrayAxes(std::span<const std::int64_t> shape);
  /// The same by name: "t", which must have one element, "c", "z", "y", "x".
  ArrayAxes(std::span<const std::int64_t> shape, std::span<const std::string> names);

  /// On the axes of the volume; 1 where the array has no such axis.
  VolumeIndex volume(std::span<const std::int64_t> of_array) const;
  /// Where an element of the volume lies in the array; 0 on axes that the volume lacks.
  std::vector<std::int64_t> array(const VolumeIndex& of_volume) const;

  std::size_t rank() const noexcept { return axes_.size(); }
  /// The volume's axis, or none, of the array's.
  int axis(std::size_t of_array) const noexcept { return axes_[of_array]; }
  static constexpr int none = -1;

 private:
  std::vector<int> axes_;
};

/// How the elements of a stored box of an array become those of a block.
class BoxLayout {
 public:
  /// `box` are the box's extents on the array's axes. They are stored in the order that `order`
  /// tells, the array's axis that varies slowest first.
  BoxLayout(const ArrayAxes& axes, std::span<const std::int64_t> box,
            std::span<const std::size_t> order, std::size_t element_bytes);

  /// Whether the stored bytes are the block's.
  bool same() const noexcept { return same_; }
  /// Stored bytes of the box.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Copies what of the box fits to the place `at` of a block of that shape.
  void copy(const std::byte* from, std::byte* to, const VolumeIndex& block,
            const VolumeIndex& at) const;
  /// The same for a block that is the box.
  void copy(const std::byte* from, std::byte* to) const { copy(from, to, shape_, {}); }

 private:
  VolumeIndex shape_{};    // of the box
  VolumeIndex strides_{};  // elements in the stored box
  std::size_t element_;
  std::size_t bytes_ = 0;
  bool same_ = false;
};

/// The order of an array whose last axis varies fastest.
std::vector<std::size_t> row_order(std::size_t rank);

}  // namespace headrace::inline v1::detail
