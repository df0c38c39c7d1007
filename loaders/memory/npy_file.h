#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace headrace::inline v1 {

/// An array in NumPy's .npy format (versions 1 to 3), read by rows along its first axis. C order,
/// numbers and booleans of either byte order. The header is bounded and the file's size must be
/// what shape and type say.
class HEADRACE_API NpyFile {
 public:
  /// Throws ConfigError when there is no such file, DataError naming the rule that it breaks.
  explicit NpyFile(const std::filesystem::path& file);
  ~NpyFile();
  NpyFile(NpyFile&&) noexcept;
  NpyFile& operator=(NpyFile&&) noexcept;

  DType dtype() const noexcept;
  /// Of the whole array, [rows, ...]; at least one axis.
  const Shape& shape() const noexcept;
  /// Rows [first, first + count), in the machine's byte order. Any thread. Throws DataError.
  Tensor rows(std::int64_t first, std::int64_t count) const;
  /// The same into memory that holds them.
  void read_rows(std::int64_t first, std::int64_t count, void* to) const;

 private:
  void check_rows(std::int64_t first, std::int64_t count) const;

  struct Core;
  std::unique_ptr<const Core> core_;
};

}  // namespace headrace::inline v1
