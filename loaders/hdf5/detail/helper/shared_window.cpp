#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/helper/shared_window.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void no_memory(std::size_t bytes) {
  throw ResourceError("[hdf5] " + std::to_string(bytes) +
                      " bytes of memory that the HDF5 helper shares are needed, the system gave "
                      "none (" +
                      std::strerror(errno) + ")");
}

/// -1 where the system has none.
int shared_file() noexcept {
  constexpr const char* name = "headrace-hdf5";
  constexpr unsigned no_program = 8;  // MFD_NOEXEC_SEAL, which newer systems may ask for
  const int file = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | no_program);
  return file >= 0 ? file : ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

}  // namespace

SharedWindow::SharedWindow() : file_(shared_file()) {
  if (file_.number() >= 0) ::fcntl(file_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL);
}

SharedWindow::~SharedWindow() {
  unmap();
}

void SharedWindow::unmap() noexcept {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
  mapped_ = nullptr;
}

void SharedWindow::grow(std::size_t bytes) {
  if (bytes <= bytes_) return;
  // Pages that are not there are a signal at their first use.
  errno = ::posix_fallocate(file_.number(), 0, static_cast<off_t>(bytes));
  if (errno != 0) no_memory(bytes);
  bytes_ = bytes;
}

void SharedWindow::release() noexcept {
  if (mapped_ != nullptr) ::madvise(mapped_, mapped_bytes_, MADV_REMOVE);
  unmap();
  bytes_ = 0;
}

std::byte* SharedWindow::map(std::size_t bytes) {
  if (mapped_ != nullptr && bytes <= mapped_bytes_) return mapped_;
  unmap();
  struct stat now {};
  errno = 0;
  if (::fstat(file_.number(), &now) != 0 || static_cast<std::size_t>(now.st_size) < bytes)
    no_memory(bytes);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  if (memory == MAP_FAILED) no_memory(bytes);
  mapped_ = static_cast<std::byte*>(memory);
  mapped_bytes_ = bytes;
  return mapped_;
}

}  // namespace headrace::inline v1::detail
