#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <headrace/engine/dtype.h>
#include <headrace/engine/shape.h>
#include <headrace/loaders/hdf5/detail/hdf5_file.h>

namespace headrace::inline v1::detail {

/// A dataset that has passed every check, seen as rows along its first axis.
struct Hdf5Dataset {
  std::string field;  ///< name in the sample
  std::string path;   ///< name in the file
  DType dtype = DType::uint8;
  bool swap = false;  ///< stored in the other byte order
  std::int64_t rows = 0;
  Shape row;  ///< shape of one row
  std::size_t row_bytes = 0;
  std::size_t bytes = 0;        ///< rows * row_bytes
  std::int64_t chunk_rows = 1;  ///< rows that lie in one chunk
  std::size_t chunk_bytes = 0;  ///< 0: not chunked
  std::uint64_t offset =
      0;  ///< of row 0 in the file, user block included; where `library` is empty
  std::string
      library;  ///< why only the library can read it: "is chunked"; empty: it lies in one piece

  std::size_t elements(std::int64_t count) const noexcept {
    return static_cast<std::size_t>(count) * (row_bytes / size_of(dtype));
  }
};

/// Opens `path` for reading with a chunk cache of `cache_bytes` (0: the library's default).
/// External links are refused. On the HDF5 thread only.
H5::DataSet open_dataset(const Hdf5File& file, const std::string& path,
                         std::size_t cache_bytes = 0);

/// Checks a dataset and says how it can be read. Throws ConfigError naming the datasets that exist,
/// DataError for what is refused: external links and storage, virtual datasets, filters beyond the
/// library's own, types without a dtype, sizes that cannot be true.
Hdf5Dataset describe_dataset(const Hdf5File& file, const std::string& field,
                             const std::string& path, std::size_t memory);

}  // namespace headrace::inline v1::detail
