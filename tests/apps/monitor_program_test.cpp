// `headrace monitor` on programs that know nothing of it.
#include <headrace/apps/run/run_folder.h>
#include <headrace/monitor/process_memory.h>
#include <headrace/monitor/system_json.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using headrace::monitor::SystemSample;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::skip;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

// Keeps so many cores busy from processes of its own, which end with it.
StartedProgram burning(const fs::path& folder, long processes) {
  const std::string each = "(while kill -0 $$; do :; done 2>/dev/null) & ";
  std::string all;
  for (long i = 0; i < processes; ++i)
    all += each;
  return StartedProgram("/bin/sh", {"-c", all + "wait"}, {.folder = folder});
}

Words watching(int pid, const Words& more) {
  Words words{"monitor", "--pid", std::to_string(pid)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool has_sampled(StartedProgram& monitor, const fs::path& file) {
  return monitor.wait_until([&] {
    std::error_code none;
    return fs::file_size(file, none) > 0 && !none;
  });
}

std::vector<SystemSample> samples_in(const fs::path& file) {
  std::vector<SystemSample> samples;
  std::istringstream lines(content_of(file));
  for (std::string line; std::getline(lines, line);) {
    const auto sample = headrace::monitor::read_system_line(line);
    REQUIRE_MESSAGE(sample.has_value(), line);
    samples.push_back(*sample);
  }
  return samples;
}

bool has_escapes(const std::string& text) {
  return text.find('\x1b') != std::string::npos || text.find('\r') != std::string::npos;
}

}  // namespace

TEST_CASE("a program that burns CPU is named as the busiest, and its spike is seen") {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  StartedProgram burner = burning(elsewhere.path(), processors);
  const Finished finished = run_headrace(
      folder.path(), watching(burner.pid(), {"--interval", "200ms", "--duration", "6s", "--output",
                                             "system.jsonl", "--plot", "system.png"}));
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CAPTURE(finished.out);
  CHECK(contains(finished.out, "watched sh " + std::to_string(burner.pid()) + " for "));
  CHECK(contains(finished.out, "(watched)"));
  CHECK(contains(finished.out, "CPU, watched"));
  CHECK_FALSE(has_escapes(finished.out));
  CHECK_FALSE(has_escapes(finished.err));
  CHECK(contains(finished.err, "Z monitor: GPU: "));  // with the time before it
  CHECK(content_of(folder.path() / "system.png").starts_with("\x89PNG"));

  const auto samples = samples_in(folder.path() / "system.jsonl");
  REQUIRE(samples.size() > 3);  // where a look is dear, they come less often
  double cpu_s = 0.0;
  bool named = false;
  for (const SystemSample& sample : samples) {
    CHECK(sample.tree.cpu_s >= cpu_s);
    cpu_s = sample.tree.cpu_s;
    named = named || std::ranges::any_of(sample.busiest, [](const auto& one) { return one.ours; });
  }
  CHECK(named);
  CHECK(samples.back().tree.processes == 1U + static_cast<unsigned>(processors));
  CHECK(cpu_s > 0.5);
  if (headrace::monitor::usable_cores() < static_cast<unsigned>(processors))
    return skip("needs all of the machine's cores to make a spike");
  CHECK_FALSE(contains(finished.out, "no CPU spikes"));
  CHECK(contains(finished.out, "CPU spikes: "));
}

TEST_CASE("a process that ends while it is watched ends the watch, with success") {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  StartedProgram sleeper("/bin/sleep", {"600"}, {.folder = elsewhere.path()});
  StartedProgram monitor(
      HEADRACE_PROGRAM,
      watching(sleeper.pid(), {"--interval", "100ms", "--output", "system.jsonl"}),
      {.folder = folder.path()});
  REQUIRE_MESSAGE(has_sampled(monitor, folder.path() / "system.jsonl"), monitor.err());
  sleeper.signal(SIGTERM);
  CHECK_MESSAGE(monitor.wait() == 0, monitor.err());
  CHECK(contains(monitor.out(), "sleep " + std::to_string(sleeper.pid()) + " has ended"));
}

TEST_CASE("what cannot be watched is refused before anything is sampled") {
  const TemporaryFolder folder;
  const Finished gone = run_headrace(folder.path(), watching(1 << 30, {}));
  CHECK(gone.status == 2);
  CHECK(contains(gone.err, "which is not there"));
  CHECK(gone.out.empty());
  const Finished no_run = run_headrace(folder.path(), {"monitor", folder.path().string()});
  CHECK(no_run.status == 2);
  CHECK(contains(no_run.err, "config.yaml"));
  const Finished both = run_headrace(folder.path(), watching(getpid(), {folder.path().string()}));
  CHECK(both.status == 2);
  const Finished interval = run_headrace(folder.path(), {"monitor", "--interval", "0s"});
  CHECK(interval.status == 2);
  CHECK(contains(interval.err, "500ms"));
  CHECK(run_headrace(folder.path(), {"monitor", "--duration", "soon"}).status == 2);
}

TEST_CASE("a run is found by its folder while a process is at work in it, and not afterwards") {
  const TemporaryFolder folder;
  fs::path path;
  {
    auto run = headrace::app::RunFolder::create(folder.path(), "demo");
    path = run.path();
    run.write_config("a: 1\n");
    run.write_environment({});
    const Finished finished = run_headrace(
        folder.path(), {"monitor", "demo", "--interval", "100ms", "--duration", "300ms"});
    CHECK_MESSAGE(finished.status == 0, finished.err);
    CHECK(contains(finished.out, "watched demo ("));
    CHECK(contains(finished.out, " " + std::to_string(getpid()) + ") for "));
  }
  const Finished after = run_headrace(folder.path(), {"monitor", path.string()});
  CHECK(after.status == 2);
  CHECK(contains(after.err, "no process of this machine is at work"));
}

TEST_CASE("without a process the machine is watched, until Ctrl-C, which is no failure") {
  const TemporaryFolder folder;
  StartedProgram monitor(HEADRACE_PROGRAM,
                         {"monitor", "--interval", "100ms", "--output", "system.jsonl"},
                         {.folder = folder.path()});
  REQUIRE_MESSAGE(has_sampled(monitor, folder.path() / "system.jsonl"), monitor.err());
  monitor.signal(SIGINT);
  CHECK(monitor.wait() == 0);
  CHECK(contains(monitor.out(), "watched the machine for "));
  CHECK_FALSE(contains(monitor.out(), "(watched)"));
  CHECK(samples_in(folder.path() / "system.jsonl").front().tree.processes == 0);
  CHECK(contains(monitor.err(), "Ctrl-C ends"));
}

TEST_CASE("a file that cannot be written ends the watch with a sentence, after what was seen") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(
      folder.path(),
      {"monitor", "--interval", "100ms", "--duration", "20s", "--output", "/proc/nowhere.jsonl"});
  CHECK(finished.status == 4);
  CHECK(contains(finished.err, "/proc/nowhere.jsonl"));
}
