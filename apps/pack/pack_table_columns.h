#pragma once

#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// One array that is packed, seen as rows along its first axis.
class PackColumn {
 public:
  virtual ~PackColumn() = default;

  virtual std::string path() const = 0;  ///< in the packed file: "/features/mel"
  virtual DType dtype() const = 0;
  virtual Shape row() const = 0;
  virtual std::int64_t size() const = 0;
  /// Copies the rows `indices`, one behind the other.
  virtual void read(std::span<const std::int64_t> indices, std::byte* to) const = 0;
  virtual std::vector<Hdf5Attribute> attributes() const { return {}; }

  std::size_t row_bytes() const {
    return size_of(dtype()) * static_cast<std::size_t>(row().elements());
  }
};

using PackColumns = std::vector<std::unique_ptr<const PackColumn>>;

/// The datasets of an HDF5 file (those named, or all that have rows), or the .npy files of a
/// folder. Throws ConfigError when there is nothing to pack, and what the readers throw.
PackColumns open_pack_columns(const std::filesystem::path& input,
                              const std::vector<std::string>& datasets, const LogCallback& log);

}  // namespace headrace::inline v1::app
