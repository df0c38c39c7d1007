#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <headrace/engine/dtype.h>
#include <headrace/engine/shape.h>
#include <headrace/engine/tensor.h>

namespace headrace::inline v1 {

/// Writes an HDF5 file of contiguous datasets, which Hdf5Table reads fastest. The file appears
/// under its name when finish() has put it on the disk; until then, and after an error, there is
/// only
/// "<file>.partial.<process>", which the destructor removes. Used by one thread at a time.
class HEADRACE_API Hdf5Writer {
 public:
  /// Throws ConfigError when the folder is not there or cannot be written.
  explicit Hdf5Writer(std::filesystem::path file);
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&&) noexcept;

  /// A dataset of `rows` rows of that shape; groups in the path are made. Throws ConfigError when
  /// the path exists already or is not one.
  void add(const std::string& path, DType dtype, std::int64_t rows, const Shape& row);
  /// The next rows of a dataset, shape [k, row...]. Throws ConfigError when path, dtype or shape do
  /// not fit or there are more rows than were announced.
  void append(const std::string& path, const Tensor& rows);
  /// A text attribute of the file: where the data come from, how they were made.
  void attribute(const std::string& name, std::string_view text);
  /// Completes the file and gives it its name. Throws ConfigError naming a dataset that has fewer
  /// rows than announced.
  void finish();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace headrace::inline v1
