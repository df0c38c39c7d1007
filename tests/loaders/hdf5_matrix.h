#pragma once

#include <headrace/tests/loaders/hdf5_files.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <H5Cpp.h>

namespace headrace::test {

/// A way of storing a chunked dataset with the library's own means.
struct Storage {
  std::string name;
  std::vector<hsize_t> extents;
  std::vector<hsize_t> chunk;
  std::vector<int> filters{};  ///< 1 deflate, 2 shuffle, 3 Fletcher-32, in the order of writing
  bool latest = false;         ///< newest format: other kinds of chunk index
  bool growing = false;        ///< the first extent is unlimited: an extensible array
  bool raw_edges = false;      ///< chunks over the edge are stored without filters
  bool sparse = false;         ///< only every other block of rows is written
  hsize_t user_block = 0;
  bool boundless = false;  ///< every extent is unlimited: the second B-tree, chunks larger than all
};

struct MatrixType {
  std::string name;
  H5::DataType file;
  H5::DataType memory;
};

inline H5::FloatType half_type(H5T_order_t order) {
  H5::FloatType type(H5::PredType::IEEE_F32LE);
  type.setFields(15, 10, 5, 0, 10);
  type.setSize(2);
  type.setEbias(15);
  type.setOrder(order);
  return type;
}

inline H5::DSetCreatPropList creation_of(const Storage& storage, const MatrixType& type) {
  H5::DSetCreatPropList creation;
  creation.setChunk(static_cast<int>(storage.chunk.size()), storage.chunk.data());
  for (const int filter : storage.filters) {
    if (filter == 1) creation.setDeflate(5);
    if (filter == 2) creation.setShuffle();
    if (filter == 3) creation.setFletcher32();
  }
  if (storage.raw_edges) H5Pset_chunk_opts(creation.getId(), H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
  const std::vector<std::byte> fill(type.file.getSize(), std::byte{42});
  H5Pset_fill_value(creation.getId(), type.file.getId(), fill.data());
  return creation;
}

inline H5::DataSpace space_of(const Storage& storage) {
  const int rank = static_cast<int>(storage.extents.size());
  if (!storage.growing && !storage.boundless) return {rank, storage.extents.data()};
  std::vector<hsize_t> most = storage.extents;
  most[0] = H5S_UNLIMITED;
  if (storage.boundless) std::ranges::fill(most, H5S_UNLIMITED);
  return {rank, storage.extents.data(), most.data()};
}

/// Every kind of chunk index with and without filters, edges, holes and user blocks.
inline std::vector<Storage> storages() {
  return {
      {"plain", {70, 10}, {16, 10}},
      {"plain, newest: fixed array or implicit", {70, 10}, {16, 10}, {}, true},
      {"deflate", {70, 10}, {16, 10}, {1}},
      {"shuffle, deflate", {64, 10}, {16, 10}, {2, 1}},
      {"shuffle, deflate, checksum", {70, 10}, {16, 10}, {2, 1, 3}},
      {"checksum, then deflate", {70, 10}, {16, 10}, {3, 1}},
      {"checksum alone", {70, 7}, {16, 7}, {3}},
      {"rows over several chunks", {70, 10}, {8, 3}, {2, 1}},
      {"rows over several chunks, fixed array", {70, 10}, {8, 3}, {2, 1}, true},
      {"one chunk larger than all", {5, 10}, {16, 16}, {1}, false, false, false, false, 0, true},
      {"second B-tree", {70, 10}, {8, 3}, {2, 1}, true, false, false, false, 0, true},
      {"single chunk index", {16, 10}, {16, 10}, {2, 1}, true},
      {"extensible array", {70, 10}, {4, 10}, {2, 1}, true, true},
      {"growing, first format", {70, 10}, {4, 10}, {1}, false, true},
      {"rank 3", {20, 6, 9}, {6, 4, 5}, {2, 1}, true, false},
      {"rank 4", {6, 5, 4, 3}, {4, 2, 3, 2}, {2, 1, 3}},
      {"rank 1", {100}, {9}, {2, 1}},
      {"raw edges", {70, 10}, {16, 4}, {2, 1}, true, false, true},
      {"holes", {70, 10}, {8, 10}, {2, 1}, false, false, false, true},
      {"holes, rows over several chunks", {70, 10}, {8, 4}, {1}, true, false, false, true},
      {"user block", {70, 10}, {16, 10}, {2, 1}, false, false, false, false, 512},
      {"user block, holes", {70, 10}, {16, 3}, {}, false, false, false, true, 2048},
  };
}

inline std::vector<MatrixType> matrix_types() {
  using P = H5::PredType;
  return {{"uint8", P::STD_U8LE, P::NATIVE_UINT8},
          {"int16 big-endian", P::STD_I16BE, P::NATIVE_INT16},
          {"float16", half_type(H5T_ORDER_LE), half_type(H5T_ORDER_LE)},
          {"float16 big-endian", half_type(H5T_ORDER_BE), half_type(H5T_ORDER_LE)},
          {"uint32", P::STD_U32LE, P::NATIVE_UINT32},
          {"float32 big-endian", P::IEEE_F32BE, P::NATIVE_FLOAT},
          {"int64", P::STD_I64LE, P::NATIVE_INT64},
          {"float64", P::IEEE_F64LE, P::NATIVE_DOUBLE}};
}

/// Writes dataset "x" of that type and storage, its fill value all bytes 42.
inline void write_matrix_file(const std::filesystem::path& path, const Storage& storage,
                              const MatrixType& type) {
  H5::FileCreatPropList layout;
  if (storage.user_block > 0) layout.setUserblock(storage.user_block);
  const H5::FileAccPropList access;
  if (storage.latest) H5Pset_libver_bounds(access.getId(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const H5::H5File file(path.c_str(), H5F_ACC_TRUNC, layout, access);
  const H5::DataSet data =
      file.createDataSet("x", type.file, space_of(storage), creation_of(storage, type));
  std::size_t row_bytes = type.file.getSize();
  for (std::size_t axis = 1; axis < storage.extents.size(); ++axis)
    row_bytes *= storage.extents[axis];
  // Half noise, half zeros: the filters have something to do.
  std::vector<std::byte> values = noise(storage.extents[0] * row_bytes);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i / 37 % 2 == 0) values[i] = std::byte{0};
  const hsize_t step = storage.sparse ? storage.chunk[0] : storage.extents[0];
  for (hsize_t first = 0; first < storage.extents[0]; first += 2 * step) {
    std::vector<hsize_t> start(storage.extents.size(), 0), count = storage.extents;
    start[0] = first;
    count[0] = std::min(step, storage.extents[0] - first);
    const H5::DataSpace memory(static_cast<int>(count.size()), count.data());
    const H5::DataSpace place = data.getSpace();
    place.selectHyperslab(H5S_SELECT_SET, count.data(), start.data());
    // As stored: no conversion, so that every bit pattern gets there.
    data.write(values.data() + first * row_bytes, type.file, memory, place);
  }
}

}  // namespace headrace::test
