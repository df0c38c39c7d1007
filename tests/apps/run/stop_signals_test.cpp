#include <headrace/apps/run/stop_signals.h>

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using headrace::app::StopSignals;

namespace {

bool stops_soon(const StopSignals& signals) {
  for (int i = 0; i < 100'000 && !signals.token().stop_requested(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return signals.token().stop_requested();
}

}  // namespace

TEST_CASE("each of the three signals asks for a stop, and the exit code is 128 and its number") {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    StopSignals signals;
    CHECK(signals.received() == 0);
    ::raise(number);
    CHECK(stops_soon(signals));
    CHECK(signals.received() == number);
    CHECK(static_cast<int>(signals.exit_code()) == 128 + number);
  }
}

TEST_CASE("a second signal of any kind ends the process with its own code") {
  for (const int second : {SIGINT, SIGTERM, SIGUSR1}) {
    const pid_t child = ::fork();
    if (child == 0) {
      StopSignals signals;
      ::raise(SIGUSR1);
      ::raise(second);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 128 + second);
  }
}

TEST_CASE("afterwards the signals do what they did before") {
  const auto handler_of = [](int number) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    return action.sa_handler;
  };
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    const auto before = handler_of(number);
    {
      StopSignals signals;
      CHECK((handler_of(number) != before));
    }
    CHECK((handler_of(number) == before));
  }
}
