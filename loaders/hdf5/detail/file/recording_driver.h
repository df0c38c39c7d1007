#pragma once

#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_types.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

class ChunkGuard;

/// A file driver of the library that only reads, from a descriptor that is already open, and on
/// request notes where raw data lies instead of reading it. So the library itself tells where each
/// chunk is, in any version of the format, at the cost of one lookup a chunk. All on the HDF5
/// thread.
///
/// The library opens nothing but what it was given: the file itself under any name of it, and the
/// files that were let in by permit(). Every other name is a file that does not exist.
class RecordingDriver {
 public:
  struct Extent {
    std::uint64_t offset = 0;  ///< in the file, user block included
    std::uint64_t bytes = 0;
  };

  /// Registers the driver for the file `path`. `descriptor` stays the caller's and must outlive
  /// every file opened through the driver.
  RecordingDriver(const std::filesystem::path& path, int descriptor);
  ~RecordingDriver();
  RecordingDriver(const RecordingDriver&) = delete;
  RecordingDriver& operator=(const RecordingDriver&) = delete;

  /// Makes a file that is opened with this list go through the driver.
  void set(const H5::FileAccPropList& access) const;
  /// Lets the library open another file, as the source of a virtual dataset. The descriptor is as
  /// the constructor's.
  void permit(const std::filesystem::path& path, int descriptor);

  /// Where a file ends that the library has open, as its superblock says, user block included.
  std::uint64_t stated_end(int descriptor) const { return stated_ends_.at(descriptor); }

  /// From here on raw data is noted, not read.
  void start() noexcept { recording_ = true; }
  void stop() noexcept { recording_ = false; }
  /// From here on the guard checks raw data that is read from a descriptor, before the library gets
  /// it; where it throws, the library's read fails.
  void guard(int descriptor, std::shared_ptr<ChunkGuard> guard);
  void release(const ChunkGuard& guard) noexcept;
  /// Throws again what a guard threw since the last call, if any.
  void rethrow_refusal();

  /// The raw read since the last call; none, or more than one, is no extent.
  std::optional<Extent> take() noexcept;

 private:
  struct File;
  static H5FD_class_t functions();
  int descriptor_of(const char* name) const noexcept;
  static H5FD_t* open(const char* name, unsigned flags, hid_t access, haddr_t);
  bool admits(int descriptor, std::uint64_t address, std::span<const std::byte> bytes) noexcept;
  static herr_t read(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t bytes,
                     void* to);

  std::map<std::filesystem::path, int> descriptors_;  ///< by canonical path
  std::map<int, std::uint64_t> stated_ends_;          ///< by descriptor
  Hid id_;
  std::multimap<int, std::shared_ptr<ChunkGuard>> guards_;  ///< by descriptor
  std::exception_ptr refusal_;
  bool recording_ = false;
  HomeProcess home_;
  int noted_ = 0;
  Extent last_{};
};

}  // namespace headrace::inline v1::detail
