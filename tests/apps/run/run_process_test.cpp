#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/run/run_process.h>
#include <headrace/tests/support/temporary_folder.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace headrace;
using app::is_running;
using app::process_started;
using app::read_run_process;
using app::RunProcess;

namespace fs = std::filesystem;

TEST_CASE("a run folder says which process opened it, and that one runs") {
  const test::TemporaryFolder folder;
  const app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  run.write_environment({});
  const auto process = read_run_process(run.path());
  REQUIRE(process);
  CHECK(process->pid == ::getpid());
  CHECK(process->started == process_started(::getpid()));
  CHECK(process->started > 0);
  CHECK(is_running(*process) == true);
}

TEST_CASE("another process with the number is not the run, and one that has ended is none") {
  RunProcess process{.pid = ::getpid(), .started = process_started(::getpid()) - 1};
  CHECK(is_running(process) == false);
  process.started = 0;  // not said
  CHECK(is_running(process) == true);
  process.host = "another machine";
  CHECK_FALSE(is_running(process).has_value());

  const pid_t child = ::fork();
  if (child == 0) ::pause();
  const RunProcess of_child{.pid = child, .started = process_started(child)};
  CHECK(is_running(of_child) == true);
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  CHECK(is_running(of_child) == false);  // nobody has asked how it ended
  ::waitpid(child, nullptr, 0);
  CHECK(is_running(of_child) == false);
}

TEST_CASE("a process of another user, which shows no open files, is taken to be at work") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "env.json") << "{\"pid\": 1}";
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const uid_t before = ::geteuid();
  constexpr uid_t nobody = 65534;
  if (before == 0) REQUIRE(::seteuid(nobody) == 0);
  std::error_code shown;
  const std::filesystem::directory_iterator files("/proc/1/fd", shown);
  const auto process = app::process_of_run(folder.path());
  if (before == 0) REQUIRE(::seteuid(before) == 0);
  if (shown != std::errc::permission_denied)
    MESSAGE("skipped: the files of process 1 are shown");
  else
    CHECK(process == 1);
}

TEST_CASE("a folder that does not say it, or says nonsense, names no process") {
  const test::TemporaryFolder folder;
  CHECK_FALSE(read_run_process(folder.path()));
  for (const char* text : {"", "{", "[]", "7", "{}", "{\"pid\": \"7\"}", "{\"pid\": -7}",
                           "{\"pid\": 1e99}", "{\"kernel\": {\"host\": 3}}"}) {
    CAPTURE(text);
    std::ofstream(folder.path() / "env.json") << text;
    CHECK_FALSE(read_run_process(folder.path()));
  }
}
