// `headrace monitor` on programs that know nothing of it.
#include <headrace/apps/run/run_folder.h>
#include <headrace/monitor/system/system_json.h>
#include <headrace/tests/apps/watch/burning_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
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
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

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
  const std::string text = content_of(file);
  for (const std::string& line : headrace::test::lines_of(text.substr(0, text.rfind('\n') + 1))) {
    const auto sample = headrace::monitor::read_system_line(line);
    REQUIRE_MESSAGE(sample.has_value(), line);
    samples.push_back(*sample);
  }
  return samples;
}

bool names_ours(const SystemSample& sample) {
  return std::ranges::any_of(sample.busiest, [](const auto& one) { return one.ours; });
}

bool has_escapes(const std::string& text) {
  return text.find('\x1b') != std::string::npos || text.find('\r') != std::string::npos;
}

}  // namespace

TEST_CASE("a program that burns CPU is watched with all of its processes, and no other is") {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  constexpr unsigned processes = 2;
  StartedProgram burner = headrace::test::burning_program(elsewhere.path(), processes);
  StartedProgram monitor(headrace::test::headrace_program(),
                         watching(burner.pid(), {"--interval", "200ms", "--output", "system.jsonl",
                                                 "--plot", "system.png"}),
                         {.folder = folder.path()});
  std::vector<SystemSample> samples;
  // How soon it has got so much of the CPU depends on who else is here.
  REQUIRE_MESSAGE(monitor.wait_until([&] {
    samples = samples_in(folder.path() / "system.jsonl");
    return samples.size() > 3 && samples.back().at_s > samples.front().at_s + 3.0 &&
           samples.back().tree.processes == 1U + processes && samples.back().tree.cpu_s > 0.5 &&
           std::ranges::any_of(samples, names_ours);
  }),
                  monitor.err());
  const std::string pid = std::to_string(burner.pid());
  std::istringstream children(content_of(fs::path("/proc") / pid / "task" / pid / "children"));
  std::set<int> watched{burner.pid()};
  watched.insert(std::istream_iterator<int>(children), {});
  REQUIRE(watched.size() == 1U + processes);
  monitor.signal(SIGINT);
  CHECK_MESSAGE(monitor.wait() == 0, monitor.err());
  const std::string out = monitor.out();
  CAPTURE(out);
  CHECK(contains(out, "watched sh " + std::to_string(burner.pid()) + " for "));
  CHECK(contains(out, "all that are watched"));
  CHECK(contains(out, "CPU, watched"));
  CHECK_FALSE(has_escapes(out));
  CHECK_FALSE(has_escapes(monitor.err()));
  CHECK(contains(monitor.err(), "Z monitor: GPU: "));  // with the time before it
  CHECK(content_of(folder.path() / "system.png").starts_with("\x89PNG"));
  double cpu_s = 0.0;
  for (const SystemSample& sample : samples) {
    CHECK(sample.tree.cpu_s >= cpu_s);
    cpu_s = sample.tree.cpu_s;
    for (const auto& one : sample.busiest)
      CHECK(one.ours == watched.contains(one.pid));
  }
  CHECK(samples.back().tree.processes == 1U + processes);
}

TEST_CASE("a process that ends while it is watched ends the watch, with success") {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  StartedProgram sleeper("/bin/sleep", {"600"}, {.folder = elsewhere.path()});
  StartedProgram monitor(
      headrace::test::headrace_program(),
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
    StartedProgram monitor(headrace::test::headrace_program(),
                           {"monitor", "demo", "--interval", "100ms", "--output", "system.jsonl"},
                           {.folder = folder.path()});
    REQUIRE_MESSAGE(has_sampled(monitor, folder.path() / "system.jsonl"), monitor.err());
    monitor.signal(SIGINT);
    CHECK_MESSAGE(monitor.wait() == 0, monitor.err());
    CHECK(contains(monitor.out(), "watched demo ("));
    CHECK(contains(monitor.out(), " " + std::to_string(getpid()) + ") for "));
  }
  const Finished after = run_headrace(folder.path(), {"monitor", path.string()});
  CHECK(after.status == 2);
  CHECK(contains(after.err, "no process of this machine is at work"));
}

TEST_CASE("without a process the machine is watched, until Ctrl-C, which is no failure") {
  const TemporaryFolder folder;
  StartedProgram monitor(headrace::test::headrace_program(),
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
      {"monitor", "--interval", "100ms", "--duration", "300s", "--output", "/proc/nowhere.jsonl"});
  CHECK(finished.status == 4);
  CHECK(contains(finished.err, "/proc/nowhere.jsonl"));
}
