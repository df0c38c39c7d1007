#include <headrace/apps/run/stop_signals.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

std::atomic<int> first_signal{0};
std::array<int, 2> wake_pipe{-1, -1};
struct sigaction old_interrupt;
struct sigaction old_terminate;
static_assert(std::atomic<int>::is_always_lock_free);

void wake() {
  const char byte = 0;
  while (::write(wake_pipe[1], &byte, 1) < 0 && errno == EINTR) {
  }
}

extern "C" void headrace_on_stop_signal(int number) {
  const int error = errno;
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, number)) ::_exit(128 + number);
  wake();
  errno = error;
}

void listen(std::stop_source& stop) {
  char byte = 0;
  while (::read(wake_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
  if (first_signal != 0) stop.request_stop();
}

}  // namespace

StopSignals::StopSignals() {
  if (::pipe2(wake_pipe.data(), O_CLOEXEC) != 0) {
    throw ResourceError(std::string("[signals] no pipe: ") + std::strerror(errno));
  }
  first_signal = 0;
  listener_ = std::jthread([this] { listen(stop_); });
  struct sigaction action {};
  action.sa_handler = headrace_on_stop_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &old_interrupt);
  ::sigaction(SIGTERM, &action, &old_terminate);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &old_interrupt, nullptr);
  ::sigaction(SIGTERM, &old_terminate, nullptr);
  wake();
  listener_.join();
  for (int& end : wake_pipe) {
    ::close(end);
    end = -1;
  }
}

int StopSignals::received() const noexcept {
  return first_signal;
}

ExitCode StopSignals::exit_code() const noexcept {
  switch (received()) {
    case SIGINT:
      return ExitCode::interrupted;
    case SIGTERM:
      return ExitCode::terminated;
    default:
      return ExitCode::done;
  }
}

}  // namespace headrace::inline v1::app
