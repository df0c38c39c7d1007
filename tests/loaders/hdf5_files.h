#pragma once

#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <H5Cpp.h>

namespace headrace::test {

/// A dataset for a test, written by the library alone.
struct Planned {
  std::string path;
  H5::DataType type;  ///< in the file
  std::vector<hsize_t> extents;
  std::vector<hsize_t> chunk{};  ///< empty: in one piece
  unsigned deflate = 0;
  bool compact = false;
};

inline H5::DSetCreatPropList storage_of(const Planned& plan) {
  H5::DSetCreatPropList creation;
  if (!plan.chunk.empty()) {
    creation.setChunk(static_cast<int>(plan.chunk.size()), plan.chunk.data());
    if (plan.deflate > 0) {
      creation.setShuffle();
      creation.setDeflate(plan.deflate);
    }
  }
  if (plan.compact) creation.setLayout(H5D_COMPACT);
  return creation;
}

/// Writes `data`, elements of `memory_type`; the library converts them to the planned type.
inline void write(const H5::H5File& file, const Planned& plan, const void* data,
                  const H5::DataType& memory_type) {
  const H5::DataSpace space(static_cast<int>(plan.extents.size()), plan.extents.data());
  file.createDataSet(plan.path, plan.type, space, storage_of(plan)).write(data, memory_type);
}

/// A whole dataset as the library reads it.
inline std::vector<std::byte> h5dread(const std::filesystem::path& path, const std::string& dataset,
                                      const H5::DataType& memory_type) {
  const H5::H5File file(path.c_str(), H5F_ACC_RDONLY);
  const H5::DataSet data = file.openDataSet(dataset);
  const auto elements = static_cast<std::size_t>(data.getSpace().getSimpleExtentNpoints());
  std::vector<std::byte> bytes(elements * memory_type.getSize());
  data.read(bytes.data(), memory_type);
  return bytes;
}

/// Values that use every byte: good for any type of integers.
inline std::vector<std::byte> noise(std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  std::uint64_t state = 88172645463325252ULL;
  for (std::byte& value : values) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = static_cast<std::byte>(state >> 24);
  }
  return values;
}

/// The rows `indices` of packed rows.
inline std::vector<std::byte> pick(const std::vector<std::byte>& rows, std::size_t row_bytes,
                                   std::span<const std::int64_t> indices) {
  std::vector<std::byte> picked;
  for (std::int64_t index : indices) {
    const auto first = rows.begin() + index * static_cast<std::int64_t>(row_bytes);
    picked.insert(picked.end(), first, first + static_cast<std::int64_t>(row_bytes));
  }
  return picked;
}

}  // namespace headrace::test
