#include <headrace/apps/run/live_signal.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

std::array<int, 2> answer_pipe{-1, -1};
struct sigaction old_action;

// A pipe that is full holds a signal to be answered already.
void wake_answer() {
  const char byte = 0;
  while (::write(answer_pipe[1], &byte, 1) < 0 && errno == EINTR) {
  }
}

extern "C" void headrace_on_live_signal(int) {
  const int error = errno;
  wake_answer();
  errno = error;
}

// All that is there; a timeout below zero waits for something.
void drain(int timeout_ms) {
  pollfd ready{.fd = answer_pipe[0], .events = POLLIN, .revents = 0};
  while (::poll(&ready, 1, timeout_ms) < 0 && errno == EINTR) {
  }
  std::array<char, 512> bytes{};
  ssize_t count = 0;
  do {
    count = ::read(answer_pipe[0], bytes.data(), bytes.size());
  } while (count > 0 || (count < 0 && errno == EINTR));
}

void listen(const std::function<void(const std::stop_token&)>& work, const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "hr-live");
  for (;;) {
    drain(-1);
    if (stop.stop_requested()) return;
    try {
      work(stop);
    } catch (...) {
      continue;  // a look at a run does not end it
    }
  }
}

}  // namespace

LiveSignal::LiveSignal() {
  if (::pipe2(answer_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    throw ResourceError(std::string("[signals] no pipe: ") + std::strerror(errno));
  struct sigaction action {};
  action.sa_handler = headrace_on_live_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGUSR2, &action, &old_action);
}

LiveSignal::~LiveSignal() {
  ::sigaction(SIGUSR2, &old_action, nullptr);
  for (int& end : answer_pipe) {
    ::close(end);
    end = -1;
  }
}

LiveSignal::Answer::Answer(std::function<void(const std::stop_token&)> work) {
  drain(0);
  listener_ =
      std::jthread([work = std::move(work)](const std::stop_token& stop) { listen(work, stop); });
}

LiveSignal::Answer::~Answer() {
  listener_.request_stop();
  wake_answer();
  listener_.join();
}

}  // namespace headrace::inline v1::app
