#include <headrace/apps/run/live_signal.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using headrace::app::LiveSignal;

namespace {

template <class Condition>
bool soon(const Condition& holds) {
  for (int i = 0; i < 100'000 && !holds(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

}  // namespace

TEST_CASE("SIGUSR2 does not end a process, and what comes before an answer is forgotten") {
  const LiveSignal signals;
  for (int i = 0; i < 10; ++i)
    ::raise(SIGUSR2);
  std::atomic<int> answers{0};
  {
    const LiveSignal::Answer answer([&](const std::stop_token&) { ++answers; });
    CHECK(answers == 0);
    ::raise(SIGUSR2);
    CHECK(soon([&] { return answers == 1; }));
    ::raise(SIGUSR2);
    CHECK(soon([&] { return answers == 2; }));
  }
  ::raise(SIGUSR2);
  CHECK(answers == 2);
}

TEST_CASE("signals that come while one is answered are one more answer") {
  const LiveSignal signals;
  std::atomic<int> begun{0};
  std::atomic<bool> go{false};
  {
    const LiveSignal::Answer answer([&](const std::stop_token&) {
      ++begun;
      go.wait(false);
    });
    ::raise(SIGUSR2);
    CHECK(soon([&] { return begun == 1; }));
    for (int i = 0; i < 100; ++i)
      ::raise(SIGUSR2);
    go = true;
    go.notify_all();
    CHECK(soon([&] { return begun == 2; }));
  }
  CHECK(begun == 2);
}

TEST_CASE("the end of an answer is told to the one that is under way, and an error ends nothing") {
  const LiveSignal signals;
  std::atomic<bool> stopped{false};
  std::atomic<int> begun{0};
  {
    const LiveSignal::Answer answer([&](const std::stop_token& stop) {
      if (++begun == 1) throw std::runtime_error("a look that fails");
      stopped = soon([&] { return stop.stop_requested(); });
    });
    ::raise(SIGUSR2);
    CHECK(soon([&] { return begun == 1; }));
    ::raise(SIGUSR2);
    CHECK(soon([&] { return begun == 2; }));
  }
  CHECK(stopped);
}

TEST_CASE("a pipe full of signals holds nobody up") {
  const LiveSignal signals;
  for (int i = 0; i < 100'000; ++i)
    ::raise(SIGUSR2);
  std::atomic<int> answers{0};
  const LiveSignal::Answer answer([&](const std::stop_token&) { ++answers; });
  ::raise(SIGUSR2);
  CHECK(soon([&] { return answers == 1; }));
}

TEST_CASE("afterwards SIGUSR2 ends a process as before") {
  const pid_t child = ::fork();
  if (child == 0) {
    { const LiveSignal signals; }
    ::raise(SIGUSR2);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGUSR2);
}
