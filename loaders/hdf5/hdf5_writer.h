#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

/// How the chunks of a dataset are packed.
enum class Hdf5Codec : unsigned char {
  none,  ///< as they are
  zstd,  ///< shuffle and Zstandard (filter 32015), level 3: small
  lz4,   ///< shuffle and LZ4 (filter 32004): fast
};

/// How a dataset is laid out in the file.
struct Hdf5Layout {
  std::int64_t chunk_rows = 0;  ///< 0: contiguous, in one piece
  Hdf5Codec codec = Hdf5Codec::none;
};

/// Writes an HDF5 file, contiguous datasets, which Hdf5Table reads fastest, or chunked ones. The
/// file appears under its name when finish() has put it on the disk; until then, and after an
/// error, there is only "<file>.partial.<word>", which the destructor removes. Used by one thread
/// at a time, of one process: a fork of it leaves the file alone, and its calls throw
/// PipelineError.
class HEADRACE_API Hdf5Writer {
 public:
  /// Throws ConfigError when the folder is not there or cannot be written.
  explicit Hdf5Writer(std::filesystem::path file);
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&& other) noexcept {
    core_.swap(other.core_);
    return *this;
  }

  /// A dataset of `rows` rows of that shape; groups in the path are made. Throws ConfigError when
  /// the path exists already or is not one.
  void add(const std::string& path, DType dtype, std::int64_t rows, const Shape& row,
           const Hdf5Layout& layout = {});
  /// The next rows of a dataset, shape [k, row...]. Throws ConfigError when path, dtype or shape do
  /// not fit or there are more rows than were announced.
  void append(const std::string& path, const Tensor& rows);
  /// A text attribute of the file: where the data come from, how they were made.
  void attribute(const std::string& name, std::string_view text);
  /// A text attribute of a dataset that was added, or of the file ("/").
  void attribute(const std::string& object, const std::string& name, std::string_view text);
  /// Numbers as an attribute of a dataset that was added, or of the file ("/").
  void attribute(const std::string& object, const std::string& name, const Tensor& value);
  /// Completes the file and gives it its name. Throws ConfigError naming a dataset that has fewer
  /// rows than announced.
  void finish();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace headrace::inline v1
