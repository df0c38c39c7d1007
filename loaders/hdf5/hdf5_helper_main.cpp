#include <headrace/loaders/hdf5/detail/helper/helper_server.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <H5Cpp.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

/// If memory is short on the machine, this is what the system shall end.
void offer_to_be_ended() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::write(file, "1000", 4);
  ::close(file);
}

}  // namespace

/// headrace-hdf5 <socket> <data> <window>: what the HDF5 library does for another process, see
/// headrace::use_hdf5_helper(). Nobody starts it by hand.
int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("headrace-hdf5 is started by headrace when it reads HDF5 files\n", stderr);
    return 2;
  }
  // The library's thread has a stack of its own, which counts, whatever the shell's limit.
  pthread_attr_t usual;
  pthread_attr_init(&usual);
  pthread_attr_setstacksize(&usual, std::size_t{8} << 20);
  pthread_setattr_default_np(&usual);
  const headrace::detail::HelperDescriptors descriptors{
      .socket = std::atoi(argv[1]), .data = std::atoi(argv[2]), .window = std::atoi(argv[3])};
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(SIGXFSZ, SIG_IGN);  // then an index is not kept, and the log says why
  offer_to_be_ended();
  H5PLset_loading_state(0);  // a filter of the file's own structures may name a plugin too
  return headrace::detail::serve_helper(descriptors);
}
