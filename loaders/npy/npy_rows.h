#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/memory/npy_file.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace headrace::inline v1 {

/// The rows of an array [records, ...] in NumPy's .npy format (NpyFile), read from the file as they
/// are wanted. Field: one, of any name.
class HEADRACE_API NpyRows final : public Source {
 public:
  /// Throws ConfigError for a file that is not there or has no rows, DataError for one that is
  /// broken.
  explicit NpyRows(const std::filesystem::path& file, std::string field = "features");

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  /// Reads with pread. Throws DataError naming the file when it cannot be read.
  void read(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return true; }
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  /// "x.npy[17]".
  std::string origin(std::int64_t index) const override;

 private:
  NpyFile file_;
  std::string path_;
  std::string field_;
};

}  // namespace headrace::inline v1
