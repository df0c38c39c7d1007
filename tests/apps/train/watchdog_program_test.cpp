#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

// A bench of a small table with one worker and a watchdog, so patient that a busy machine is no
// hang.
Words watch_words(const Words& settings, const Words& more = {}) {
  Words words{"bench", "loader", headrace::test::source_folder() + "/configs/loader/table.yaml"};
  for (const char* setting : {"data.rows=4000", "data.row_bytes=64", "batch=8", "threads.loader=1",
                              "threads.watchdog=3s"}) {
    words.insert(words.end(), {"--set", setting});
  }
  for (const std::string& setting : settings)
    words.insert(words.end(), {"--set", setting});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool has_thread_named(const StartedProgram& program, const std::string& name) {
  std::error_code ended;
  const fs::path tasks = fs::path("/proc") / std::to_string(program.pid()) / "task";
  for (fs::directory_iterator task(tasks, ended), end; !ended && task != end; task.increment(ended))
    if (content_of(task->path() / "comm") == name + '\n') return true;
  return false;
}

}  // namespace

TEST_CASE("a stage that never returns ends the program with 134 and is named") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(folder.path(), watch_words({"delay.augment=60s"}));
  CHECK(finished.status == 134);
  CAPTURE(finished.err);
  const std::string said = "a hang: [bench] no stage has finished anything for ";
  const auto at = finished.err.find(said);
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(finished.err.substr(at + said.size())) >= 3.0);
  CHECK(contains(finished.err,
                 "headrace-0 is in stage \"augment delay\" of loader \"bench\", sample "));
  CHECK(contains(finished.err, "position 0"));
  CHECK(contains(finished.err, "batch 0, row 0"));
  CHECK(contains(finished.err, " headrace-watch: "));
  CHECK(contains(finished.err, "threads.watchdog"));
}

TEST_CASE("a stage that is only slow does not end the program") {
  const TemporaryFolder folder;
  const Finished finished =
      run_headrace(folder.path(), watch_words({"delay.augment=150ms"}, {"--batches", "4"}));
  CHECK_MESSAGE(finished.status == 0, finished.err);
}

TEST_CASE(
    "a program that was stopped and goes on is no hang, and no watchdog looks when none is "
    "wanted") {
  const TemporaryFolder folder;
  StartedProgram stopped(headrace::test::headrace_program(),
                         watch_words({"delay.augment=20ms"}, {"--batches", "500"}),
                         {.folder = folder.path()});
  REQUIRE(stopped.wait_until([&] { return has_thread_named(stopped, "headrace-watch"); }));
  stopped.signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  stopped.signal(SIGCONT);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  CHECK(stopped.running());
  stopped.signal(SIGINT);
  CHECK(stopped.wait() == 130);

  const Finished unwatched = run_headrace(
      folder.path(),
      watch_words({"threads.watchdog=0s", "batch=1", "delay.augment=2s"}, {"--batches", "1"}));
  CHECK_MESSAGE(unwatched.status == 0, unwatched.err);
}
