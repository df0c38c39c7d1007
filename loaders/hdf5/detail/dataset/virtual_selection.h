#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// Whether the elements that a part of a virtual dataset takes of its source lie inside those
/// extents. An axis that is selected without end follows its source. On the HDF5 thread.
bool selects_inside(hid_t selection, std::span<const hsize_t> extents);

/// Throws DataError when a part of a virtual dataset takes elements that its source, called so in
/// the message, does not have, or has not room for as many. On the HDF5 thread.
void require_inside(const H5::DSetCreatPropList& creation, std::size_t part,
                    const std::string& source, const H5::DataSpace& source_space);

}  // namespace headrace::inline v1::detail
