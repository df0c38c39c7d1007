#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// The paths of all datasets of an HDF5 file, by name, groups within groups included. Links to
/// other files and soft links are passed over; a group that contains itself is listed once; at most
/// 10,000 are listed. Throws ConfigError when there is no such file, DataError when it cannot be
/// read.
HEADRACE_API std::vector<std::string> hdf5_datasets(const std::filesystem::path& file);

/// What a dataset is, whether or not it can be read.
struct Hdf5DatasetFacts {
  std::string path{};
  DType dtype = DType::uint8;  ///< of a value
  Shape shape{};               ///< as it is stored; of strings without their bytes
  bool text = false;           ///< strings, or MATLAB's chars, whose axes are all in `shape`
  bool ragged = false;         ///< strings or sequences of variable length
  /// Its class where MATLAB (v7.3) wrote it, "double": the axes are stored in the order that is the
  /// opposite of MATLAB's. Empty: others wrote it.
  std::string matlab{};
  std::string fault{};  ///< why it cannot be read, "datatype is compound"; empty: it can
};

/// "float64 [1, 84]", "strings [84]"; of one that cannot be read why.
HEADRACE_API std::string to_string(const Hdf5DatasetFacts& facts);

/// Of the datasets of those paths, in their order; of none: of all. Throws as hdf5_datasets(), and
/// ConfigError naming the datasets that exist.
HEADRACE_API std::vector<Hdf5DatasetFacts> hdf5_dataset_facts(
    const std::filesystem::path& file, const std::vector<std::string>& paths = {});

}  // namespace headrace::inline v1
