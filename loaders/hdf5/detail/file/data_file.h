#pragma once

#include <headrace/loaders/file/internal/stage_file.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_index_file.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace headrace::inline v1::detail {

/// A data file that is open for reads of our own, past the HDF5 library.
class DataFile {
 public:
  /// When and how large a file was.
  struct Times {
    std::uint64_t bytes = 0;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Times&) const = default;
  };
  /// A descriptor of a file that another process has opened, see Hdf5Helper.
  struct Handed {
    int descriptor;  ///< belongs to the DataFile from here on
    Times named, opened;
  };

  /// With a stage, everything is read from a copy made there first (see stage_file()). Throws
  /// ConfigError when there is no such file.
  explicit DataFile(std::filesystem::path path, const Stage& stage = {});
  /// Throws DataError when the file was changed since.
  DataFile(std::filesystem::path path, const Handed& handed);
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return opened_.bytes; }
  /// Of the file under its path, whether it was staged or not.
  FileIdentity identity() const;
  const Times& named() const noexcept { return named_; }
  const Times& opened() const noexcept { return opened_; }

  /// Reads exactly `bytes` at `offset`. Any thread. Throws DataError naming the file when it is
  /// shorter now or cannot be read.
  void read(void* to, std::size_t bytes, std::uint64_t offset) const;
  /// The descriptor, for vectored reads.
  int descriptor() const noexcept { return file_.number(); }
  /// Throws DataError naming the file when its size or time of change is not that of the opening.
  void require_unchanged() const;
  [[noreturn]] void fail_read(int error) const;

 private:
  Times times() const;

  std::filesystem::path path_;
  FileDescriptor file_;
  Times named_{};   ///< of the file under its path
  Times opened_{};  ///< of the descriptor
};

}  // namespace headrace::inline v1::detail
