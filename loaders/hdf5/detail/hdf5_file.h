#pragma once

#include <headrace/loaders/hdf5/detail/chunk_index_file.h>
#include <headrace/loaders/hdf5/detail/hdf5_types.h>
#include <headrace/loaders/hdf5/detail/recording_driver.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>
#include <headrace/loaders/memory/detail/stage_file.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// A file of the library, opened for reading, and the descriptor it reads from, for reads of our
/// own past the library.
class Hdf5File {
 public:
  /// With a stage, everything is read from a copy made there first (see stage_file()). Throws
  /// ConfigError when there is no such file, DataError when the library cannot open it.
  explicit Hdf5File(std::filesystem::path path, const Stage& stage = {});
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  Hdf5Thread& thread() const noexcept { return *thread_; }
  /// On the HDF5 thread only.
  const H5::H5File& library() const noexcept { return *library_; }
  RecordingDriver& driver() const noexcept { return *driver_; }
  /// Opens another file for the library, which a virtual dataset of this one names, as the library
  /// would find it; kept as long as this file. Throws DataError when there is none, or when it does
  /// not lie in this file's folder or below. On the HDF5 thread, while the table is opened.
  const Hdf5File& source(const std::string& name) const;
  /// Of the file under its path, whether it was staged or not.
  FileIdentity identity() const;

  /// Reads exactly `bytes` at `offset`. Any thread. Throws DataError naming the file when it is
  /// shorter now or cannot be read.
  void read(void* to, std::size_t bytes, std::uint64_t offset) const;
  /// The descriptor, for vectored reads.
  int descriptor() const noexcept { return descriptor_; }
  /// Throws DataError naming the file when its size or time of change, or that of one of its
  /// sources, is not that of the opening.
  void require_unchanged() const;
  [[noreturn]] void fail_read(int error) const;

 private:
  struct Times {
    std::uint64_t bytes = 0;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Times&) const = default;
  };
  Times times() const;
  void open();
  void close() noexcept;

  std::filesystem::path path_;
  Stage stage_;
  std::shared_ptr<Hdf5Thread> thread_;
  int descriptor_ = -1;
  mutable std::optional<RecordingDriver> driver_;
  std::optional<H5::H5File> library_;
  std::uint64_t size_ = 0;
  Times named_{};   ///< of the file under its path
  Times opened_{};  ///< of the descriptor
  mutable std::map<std::filesystem::path, std::unique_ptr<const Hdf5File>> sources_;
};

}  // namespace headrace::inline v1::detail
