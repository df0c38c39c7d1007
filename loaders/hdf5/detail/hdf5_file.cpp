#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/hdf5_file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <libdeflate.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

std::string who(const std::filesystem::path& path) {
  return "[hdf5] " + path.string() + ": ";
}

int open_regular(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) {
    throw ConfigError(who(path) + "must be an HDF5 file, there is no such file; check the path");
  }
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  const std::string cause = std::string("cannot be opened (") + std::strerror(error) + ")";
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    throw ResourceError(who(path) + cause + "; raise the limits of the process");
  }
  if (error == EIO || error == ESTALE) {
    throw DataError(who(path) + cause + "; check the disk");
  }
  throw ConfigError(who(path) + cause + "; check its permissions");
}

}  // namespace

Hdf5File::Hdf5File(std::filesystem::path path, const Stage& stage)
    : path_(std::move(path)),
      stage_(stage),
      thread_(Hdf5Thread::shared()),
      descriptor_(open_regular(path_)) {
  try {
    named_ = times();
    if (!stage_.folder.empty()) {
      const int copy = stage_file(descriptor_, path_, stage_);
      ::close(std::exchange(descriptor_, copy));
    }
    opened_ = times();
    size_ = opened_.bytes;
    thread_->run([this] { open(); });
  } catch (const DataError& error) {
    close();
    throw DataError(who(path_) + "cannot be opened, " + error.what() +
                    "; check that it is a whole HDF5 file and that nobody is writing it");
  } catch (...) {
    close();
    throw;
  }
}

Hdf5File::~Hdf5File() {
  close();
}

void Hdf5File::close() noexcept {
  thread_->run([this] {
    library_.reset();
    driver_.reset();
  });
  ::close(descriptor_);
}

void Hdf5File::open() {
  driver_.emplace(path_, descriptor_);
  const H5::FileAccPropList access;
  driver_->set(access);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access.getId(), true, true);  // where there are no locks, reads go on
#endif
  library_.emplace(path_.c_str(), H5F_ACC_RDONLY, H5::FileCreatPropList::DEFAULT, access);
}

const Hdf5File& Hdf5File::source(const std::string& name) const {
  namespace fs = std::filesystem;
  const fs::path own = fs::canonical(path_), folder = own.parent_path();
  // The library looks for a full path that has gone in the file's own folder.
  fs::path path = name == "." ? own : fs::weakly_canonical(folder / name);
  if (fs::path(name).is_absolute() && !fs::is_regular_file(path))
    path = fs::weakly_canonical(folder / fs::path(name).filename());
  if (std::ranges::mismatch(folder, path).in1 != folder.end()) {
    throw DataError("has its data in \"" + name + "\", outside the folder " + folder.string() +
                    ", which is refused; put the files beside each other");
  }
  if (path == own) return *this;
  if (!fs::is_regular_file(path)) {
    throw DataError("has its data in \"" + name + "\", but there is no file " + path.string() +
                    "; put it back");
  }
  std::unique_ptr<const Hdf5File>& source = sources_[path];
  if (!source) {
    source = std::make_unique<const Hdf5File>(path, stage_);
    driver_->permit(path, source->descriptor());
  }
  return *source;
}

Hdf5File::Times Hdf5File::times() const {
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) fail_read(errno);
  return {static_cast<std::uint64_t>(now.st_size), now.st_mtim.tv_sec, now.st_mtim.tv_nsec};
}

FileIdentity Hdf5File::identity() const {
  constexpr std::uint64_t most = std::uint64_t{64} << 10;
  const auto part = static_cast<std::size_t>(std::min(size_, most));
  std::vector<std::byte> bytes(part);
  read(bytes.data(), part, 0);
  std::uint32_t sum = libdeflate_crc32(0, bytes.data(), part);
  read(bytes.data(), part, size_ - part);
  sum = libdeflate_crc32(sum, bytes.data(), part);
  return {named_.bytes, named_.changed_s, named_.changed_ns, sum};
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
  for (const auto& [path, source] : sources_)
    source->require_unchanged();
  if (times() == opened_) return;
  throw DataError(path_.string() +
                  " was changed after it was opened; leave data files alone while they are "
                  "read, or replace them by renaming a new one");
}

void Hdf5File::fail_read(int error) const {
  throw DataError(path_.string() + " could not be read (" +
                  (error != 0 ? std::strerror(error) : "it has become shorter") +
                  "); check the disk and that nobody changes the file");
}

}  // namespace headrace::inline v1::detail
