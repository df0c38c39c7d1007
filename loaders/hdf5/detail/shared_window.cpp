#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/shared_window.h>

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

}  // namespace

SharedWindow::SharedWindow()
    : file_(::memfd_create("headrace-hdf5", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (file_.number() < 0 || ::fcntl(file_.number(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) no_memory(0);
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
  if (::ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0) no_memory(bytes);
  bytes_ = bytes;
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
