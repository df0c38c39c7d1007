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
std::array<int, 2> stop_pipe{-1, -1};
constexpr std::array stop_signals{SIGINT, SIGTERM, SIGUSR1};
std::array<struct sigaction, stop_signals.size()> old_actions;
static_assert(std::atomic<int>::is_always_lock_free);

void wake_listener() {
  const char byte = 0;
  while (::write(stop_pipe[1], &byte, 1) < 0 && errno == EINTR) {
  }
}

extern "C" void headrace_on_stop_signal(int number) {
  const int error = errno;
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, number)) ::_exit(128 + number);
  wake_listener();
  errno = error;
}

void listen(std::stop_source& stop) {
  char byte = 0;
  while (::read(stop_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
  if (first_signal != 0) stop.request_stop();
}

}  // namespace

StopSignals::StopSignals() {
  if (::pipe2(stop_pipe.data(), O_CLOEXEC) != 0) {
    throw ResourceError(std::string("[signals] no pipe: ") + std::strerror(errno));
  }
  first_signal = 0;
  listener_ = std::jthread([this] { listen(stop_); });
  struct sigaction action {};
  action.sa_handler = headrace_on_stop_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < stop_signals.size(); ++i)
    ::sigaction(stop_signals[i], &action, &old_actions[i]);
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < stop_signals.size(); ++i)
    ::sigaction(stop_signals[i], &old_actions[i], nullptr);
  wake_listener();
  listener_.join();
  for (int& end : stop_pipe) {
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
    case SIGUSR1:
      return ExitCode::warned;
    default:
      return ExitCode::done;
  }
}

}  // namespace headrace::inline v1::app
