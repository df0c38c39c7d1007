#pragma once

#include <cstddef>
#include <vector>

namespace headrace::test {

/// Small sound HDF5 files: every layout, kind of chunk index, filter and type of value.
const std::vector<std::vector<std::byte>>& hdf5_seeds();

}  // namespace headrace::test
