#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

// A bench of a small table with one worker and a watchdog of a second.
Words watched(const Words& settings, const Words& more = {}) {
  Words words{"bench", "loader", HEADRACE_SOURCE_DIR "/configs/loader/table.yaml"};
  for (const char* setting : {"data.rows=4000", "data.row_bytes=64", "batch=8", "threads.loader=1",
                              "threads.watchdog=1s"}) {
    words.insert(words.end(), {"--set", setting});
  }
  for (const std::string& setting : settings)
    words.insert(words.end(), {"--set", setting});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a stage that never returns ends the program with 134 and is named") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(folder.path(), watched({"delay.augment=60s"}));
  CHECK(finished.status == 134);
  CAPTURE(finished.err);
  CHECK(contains(finished.err, "a hang: [bench] no stage has finished anything for 1."));
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
      run_headrace(folder.path(), watched({"delay.augment=150ms"}, {"--batches", "2"}));
  CHECK_MESSAGE(finished.status == 0, finished.err);
}

TEST_CASE(
    "a program that was stopped and goes on is no hang, and no watchdog looks when none is "
    "wanted") {
  const TemporaryFolder folder;
  StartedProgram stopped(HEADRACE_PROGRAM, watched({"delay.augment=20ms"}, {"--batches", "8"}),
                         {.folder = folder.path()});
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  stopped.signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  stopped.signal(SIGCONT);
  CHECK(stopped.wait() == 0);

  const Finished unwatched = run_headrace(
      folder.path(),
      watched({"threads.watchdog=0s", "batch=1", "delay.augment=2s"}, {"--batches", "1"}));
  CHECK_MESSAGE(unwatched.status == 0, unwatched.err);
}
