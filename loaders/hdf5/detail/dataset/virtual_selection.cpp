#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/dataset/number_list.h>
#include <headrace/loaders/hdf5/detail/dataset/virtual_selection.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_types.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

using Numbers = std::array<hsize_t, H5S_MAX_RANK>;

/// A regular selection, axis by axis.
struct Blocks {
  Numbers start{}, stride{}, count{}, block{};

  /// Whether its end lies inside an axis; what is selected without end follows its source.
  bool end_inside(std::size_t axis, hsize_t extent) const noexcept {
    if (count[axis] == H5S_UNLIMITED || block[axis] == H5S_UNLIMITED) return true;
    hsize_t end = 0;
    return !__builtin_mul_overflow(count[axis] - 1, stride[axis], &end) &&
           !__builtin_add_overflow(end, start[axis], &end) &&
           !__builtin_add_overflow(end, block[axis], &end) && end <= extent;
  }
};

std::string last_of(hid_t selection) {
  Numbers first{}, last{};
  if (H5Sget_select_bounds(selection, first.data(), last.data()) < 0) return "[?]";
  const auto rank = static_cast<std::size_t>(H5Sget_simple_extent_ndims(selection));
  return number_list(
      std::vector<std::uint64_t>(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(rank)));
}

}  // namespace

bool selects_inside(hid_t selection, std::span<const hsize_t> extents) {
  if (H5Sget_simple_extent_ndims(selection) != static_cast<int>(extents.size())) return false;
  // The bounds of a regular selection are sums that may run over.
  if (H5Sget_select_type(selection) == H5S_SEL_HYPERSLABS &&
      H5Sis_regular_hyperslab(selection) > 0) {
    Blocks blocks;
    if (H5Sget_regular_hyperslab(selection, blocks.start.data(), blocks.stride.data(),
                                 blocks.count.data(), blocks.block.data()) < 0)
      return false;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      if (!blocks.end_inside(axis, extents[axis])) return false;
    return true;
  }
  Numbers first{}, last{};
  return H5Sget_select_bounds(selection, first.data(), last.data()) >= 0 &&
         std::equal(extents.begin(), extents.end(), last.begin(), std::greater<>());
}

// The library takes what a part selects on trust: it would deliver what lies behind the data of a
// source in one piece, in memory where that is compact.
void require_inside(const H5::DSetCreatPropList& creation, std::size_t part,
                    const std::string& source, const H5::DataSpace& source_space) {
  const std::string must = "is virtual, and its part " + std::to_string(part) + " must ";
  const Hid place(H5Pget_virtual_vspace(creation.getId(), part));
  const Hid taken(H5Pget_virtual_srcspace(creation.getId(), part));
  if (!place.valid() || !taken.valid())
    throw DataError(must + "say what it takes of \"" + source + "\"; the file is damaged");
  const bool whole = H5Sget_select_type(taken.get()) == H5S_SEL_ALL;
  const hssize_t elements =
      whole ? source_space.getSimpleExtentNpoints() : H5Sget_select_npoints(taken.get());
  const hssize_t room = H5Sget_select_npoints(place.get());
  if (room != elements) {
    throw DataError(must + "have room for what it takes of \"" + source + "\", " +
                    std::to_string(elements) + " elements, got " + std::to_string(room) +
                    "; write the virtual dataset anew");
  }
  if (whole || elements == 0) return;
  std::vector<hsize_t> extents(static_cast<std::size_t>(source_space.getSimpleExtentNdims()));
  source_space.getSimpleExtentDims(extents.data());
  if (selects_inside(taken.get(), extents)) return;
  throw DataError(must + "lie inside its source \"" + source + "\", " +
                  number_list(std::vector<std::uint64_t>(extents.begin(), extents.end())) +
                  ", got elements up to " + last_of(taken.get()) +
                  "; write the virtual dataset anew");
}

}  // namespace headrace::inline v1::detail
