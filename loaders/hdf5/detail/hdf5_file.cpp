#include <headrace/loaders/hdf5/detail/hdf5_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {
namespace {

std::string who(const std::filesystem::path& path) {
  return "[hdf5] " + path.string() + ": ";
}

}  // namespace

Hdf5File::Hdf5File(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path_, none)) {
    throw ConfigError(who(path_) + "must be an HDF5 file, there is no such file; check the path");
  }
  thread_ = Hdf5Thread::shared();
  try {
    thread_->run([this] { open(); });
    note_identity();
  } catch (const DataError& error) {
    if (descriptor_ >= 0) ::close(descriptor_);
    thread_->run([this] { library_.reset(); });
    throw DataError(who(path_) + "cannot be opened, " + error.what() +
                    "; check that it is a whole HDF5 file and that nobody is writing it");
  }
}

Hdf5File::~Hdf5File() {
  if (descriptor_ >= 0) ::close(descriptor_);
  thread_->run([this] { library_.reset(); });
}

void Hdf5File::open() {
  const H5::FileAccPropList access;
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access.getId(), true, true);  // where there are no locks, reads go on
#endif
  library_.emplace(path_.c_str(), H5F_ACC_RDONLY, H5::FileCreatPropList::DEFAULT, access);
  void* handle = nullptr;
  library_->getVFDHandle(&handle);
  descriptor_ = ::fcntl(*static_cast<int*>(handle), F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0) {
    throw DataError(std::string("no descriptor could be had (") + std::strerror(errno) + ")");
  }
}

void Hdf5File::note_identity() {
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) fail_read(errno);
  size_ = static_cast<std::uint64_t>(now.st_size);
  changed_s_ = now.st_mtim.tv_sec;
  changed_ns_ = now.st_mtim.tv_nsec;
}

void Hdf5File::read(void* to, std::size_t bytes, std::uint64_t offset) const {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_read(got < 0 ? errno : 0);
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

void Hdf5File::require_unchanged() const {
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) fail_read(errno);
  if (static_cast<std::uint64_t>(now.st_size) != size_ || now.st_mtim.tv_sec != changed_s_ ||
      now.st_mtim.tv_nsec != changed_ns_) {
    throw DataError(path_.string() +
                    " was changed after it was opened; leave data files alone while they are "
                    "read, or replace them by renaming a new one");
  }
}

void Hdf5File::fail_read(int error) const {
  throw DataError(path_.string() + " could not be read (" +
                  (error != 0 ? std::strerror(error) : "it has become shorter") +
                  "); check the disk and that nobody changes the file");
}

}  // namespace headrace::inline v1::detail
