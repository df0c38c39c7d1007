#pragma once

#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// A dataset while it is described.
struct DescribedPart {
  const Hdf5File& file;
  const DatasetRequest& request;
  const H5::DataSet& data;
  const H5::DSetCreatPropList& creation;
  std::vector<std::uint64_t> extents;  ///< those of the datatype's arrays at the end
};

/// Throws DataError when the product of two sizes does not fit into 63 bits.
std::size_t checked_product(std::size_t a, std::size_t b);

/// Checks every source of a virtual dataset as if it were read alone, and lets the library open its
/// file. Throws DataError for what is refused. On the HDF5 thread.
void admit_sources(const Hdf5File& file, const DatasetRequest& request,
                   const H5::DSetCreatPropList& creation);

/// Throws DataError when the fill value is not as large as an element: the library would fill up
/// with what lies behind it in memory. On the HDF5 thread.
void require_fill(const DescribedPart& part);

/// The parts of describe_dataset() for datasets in their header and in one piece. On the HDF5
/// thread.
void describe_compact(const DescribedPart& part, Hdf5Dataset& dataset);
void describe_contiguous(const DescribedPart& part, Hdf5Dataset& dataset);

/// The most chunks of a dataset whose places are kept in memory, in a file of that size.
std::size_t most_indexed_chunks(std::size_t memory, std::uint64_t file_bytes);

/// The chunked part of describe_dataset(). On the HDF5 thread.
void describe_chunks(const DescribedPart& part, ChunkIndexes& indexes, Hdf5Dataset& dataset);

}  // namespace headrace::inline v1::detail
