#pragma once

#include <atomic>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// A file that the library writes. At the end of a process the library brings on the disk what it
/// holds of it; of a process that was forked meanwhile that would be what the file was at the fork,
/// over what the other process has written since. So a fork has nothing under its descriptor. On
/// the HDF5 thread, as its end, behind the closing of the file.
class KeptFromForks {
 public:
  /// Throws ResourceError where too many files are being written.
  explicit KeptFromForks(const H5::H5File& file);
  ~KeptFromForks();
  KeptFromForks(const KeptFromForks&) = delete;
  KeptFromForks& operator=(const KeptFromForks&) = delete;

 private:
  std::atomic<int>* place_ = nullptr;
};

}  // namespace headrace::inline v1::detail
