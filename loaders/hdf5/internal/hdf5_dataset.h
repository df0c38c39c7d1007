#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_file.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A dataset that has passed every check, seen as rows: one for each place of its leading axes.
struct Hdf5Dataset {
  std::string field;  ///< name in the sample
  std::string path;   ///< name in the file
  DType dtype = DType::uint8;
  bool swap = false;                  ///< stored in the other byte order
  bool text = false;                  ///< strings; the last axis of a row is their bytes
  std::vector<std::int64_t> leading;  ///< extents of the axes that count rows
  std::int64_t rows = 0;              ///< their product
  Shape row;                          ///< shape of one row
  std::size_t row_bytes = 0;
  std::size_t bytes = 0;          ///< rows * row_bytes
  std::size_t chunk_bytes = 0;    ///< 0: not chunked
  std::int64_t chunk_extent = 1;  ///< along the first axis
  std::uint64_t offset = 0;       ///< of row 0 in the file, user block included; where in one piece
  std::shared_ptr<const ChunkStore> chunks{};  ///< null: in one piece, or only by the library
  /// In chunks that the library reads: what they are checked against, without their places.
  std::shared_ptr<const ChunkStore> guarded{};
  /// Why only the library can read it: "is compact"; empty: it lies in one piece or in chunks.
  std::string library;
  /// Of variable length: what its rows hold, one value each. The rest describes the references into
  /// the heap, which are uint8 [16] for whoever reads them.
  std::optional<RaggedElement> ragged{};
  std::uint64_t base = 0;  ///< what the addresses in the references count from
  std::size_t number = 0;  ///< of its description, for the LibraryAccess that gave it

  std::size_t elements(std::int64_t count) const noexcept {
    return static_cast<std::size_t>(count) * (row_bytes / size_of(dtype));
  }
  /// Rows in one place of the first axis.
  std::int64_t inner_rows() const noexcept { return leading[0] > 0 ? rows / leading[0] : 0; }
};

/// Opens `path` for reading with a chunk cache of `cache_bytes` (0: the library's default).
/// External links are refused. On the HDF5 thread only.
H5::DataSet open_dataset(const Hdf5File& file, const std::string& path,
                         std::size_t cache_bytes = 0);

/// What is wanted of a dataset.
struct DatasetRequest {
  std::string field;
  std::string path;
  int axes = 1;             ///< leading axes that count rows
  bool all_axes = false;    ///< `axes` is the table's: fewer where the dataset has fewer
  std::size_t memory = 0;   ///< no chunk, and no index of chunks, may be larger
  bool by_library = false;  ///< it shall be read by the library whatever it is
  bool source = false;      ///< of a virtual dataset: it must not be virtual itself
};

/// Checks a dataset and says how it can be read. Throws ConfigError naming the datasets that exist,
/// DataError for what is refused: external links and storage, virtual datasets of files outside the
/// file's folder, filters that neither the library nor we know, types without a dtype, sizes that
/// cannot be true.
Hdf5Dataset describe_dataset(const Hdf5File& file, const DatasetRequest& request,
                             ChunkIndexes& indexes);

}  // namespace headrace::inline v1::detail
