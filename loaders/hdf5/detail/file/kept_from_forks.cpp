#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/file/kept_from_forks.h>

#include <array>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

/// Descriptors, each one more than its number; 0: none. A forked process may take no lock.
std::array<std::atomic<int>, 256> in_making;

const int kept = ::pthread_atfork(nullptr, nullptr, [] {
  for (const std::atomic<int>& file : in_making) {
    if (file.load() == 0) continue;
    const int descriptor = file.load() - 1;
    ::close(descriptor);  // so that one is free
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing == descriptor || nothing < 0) continue;
    ::dup2(nothing, descriptor);
    ::close(nothing);
  }
});

}  // namespace

KeptFromForks::KeptFromForks(const H5::H5File& file) {
  void* descriptor = nullptr;
  file.getVFDHandle(&descriptor);
  for (std::atomic<int>& place : in_making) {
    int none = 0;
    if (!place.compare_exchange_strong(none, *static_cast<int*>(descriptor) + 1)) continue;
    place_ = &place;
    return;
  }
  throw ResourceError("[hdf5] at most " + std::to_string(in_making.size()) +
                      " files can be written at a time; finish some");
}

KeptFromForks::~KeptFromForks() {
  place_->store(0);
}

}  // namespace headrace::inline v1::detail
