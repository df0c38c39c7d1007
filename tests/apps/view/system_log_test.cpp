// system.jsonl of a run, and what its samples come to.
#include <headrace/apps/view/system_log.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace;
using app::SystemLog;
using test::content_of;
using test::lines_of;

namespace {

// Waits for what samples bring; false after two minutes.
bool comes(const std::function<bool()>& wanted) {
  for (int i = 0; i < 12'000 && !wanted(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return wanted();
}

app::SystemLogOptions quick() {
  return {.allocator = {}, .period = std::chrono::milliseconds(20)};
}

// A row may be half written yet: of that there is none.
std::string phase_of(const std::string& row) {
  const auto line = nlohmann::json::parse(row, nullptr, /*allow_exceptions=*/false);
  return line.is_object() ? line.value("phase", "") : "";
}

const auto no_warning = [](const std::string& line) { FAIL(line); };

}  // namespace

TEST_CASE("each sample is a row with the phase and the epoch that it fell in") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "system.jsonl";
  {
    SystemLog log(file, quick(), no_warning);
    REQUIRE(comes([&] { return std::filesystem::exists(file) && !content_of(file).empty(); }));
    log.enter({.phase = "train", .epoch = 3});
    REQUIRE(comes([&] { return log.window().machine.has_value(); }));
    log.enter({.phase = "evaluate"});
    REQUIRE(comes([&] {
      const std::vector<std::string> rows = lines_of(content_of(file));
      return phase_of(rows.back()) == "evaluate";
    }));
  }
  const std::vector<std::string> rows = lines_of(content_of(file));
  REQUIRE(rows.size() >= 3);
  for (const std::string& row : rows)
    CHECK_MESSAGE(monitor::read_system_line(row), row);
  CHECK(phase_of(rows.front()) == "other");
  CHECK(phase_of(rows.back()) == "evaluate");
  bool trained = false;
  for (const std::string& row : rows) {
    trained = trained || (phase_of(row) == "train" && nlohmann::json::parse(row).at("epoch") == 3);
  }
  CHECK(trained);
}

TEST_CASE("a window has the samples of one training part, and the next begins anew") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "system.jsonl";
  SystemLog log(file, quick(), no_warning);
  CHECK_FALSE(log.window().mean);
  CHECK(app::system_row(log.window()).empty());
  log.enter({.phase = "train", .epoch = 1});
  REQUIRE(comes([&] {
    const app::SystemWindow window = log.window();
    // Longer than a busy machine takes from one line of this test to the next.
    return window.machine && window.machine->samples >= 5 && window.usage.seconds > 1.0;
  }));
  log.enter({.phase = "evaluate"});
  const app::SystemWindow first = log.window();
  REQUIRE(first.mean);
  CHECK(first.mean->machine_share == first.usage.cpu->mean);
  CHECK_FALSE(app::system_row(first).empty());
  const std::size_t before = lines_of(content_of(file)).size();
  REQUIRE(comes([&] { return lines_of(content_of(file)).size() > before + 3; }));
  CHECK(log.window().machine->samples == first.machine->samples);  // what follows is not of it
  log.enter({.phase = "train", .epoch = 2});
  CHECK(log.window().usage.seconds < first.usage.seconds);
}

TEST_CASE("a file that cannot be written is told once, and the samples go on") {
  const test::TemporaryFolder folder;
  std::atomic<int> warnings{0};
  SystemLog log(folder.path() / "nowhere" / "system.jsonl", quick(), [&](const std::string& line) {
    CHECK(line.starts_with("[system] "));
    ++warnings;
  });
  log.enter({.phase = "train", .epoch = 1});
  REQUIRE(comes([&] {
    const auto machine = log.window().machine;
    return machine && machine->samples >= 3;
  }));
  CHECK(warnings == 1);
}

TEST_CASE("a run without a GPU has no busy share to be judged by, and knows its spikes") {
  const test::TemporaryFolder folder;
  SystemLog log(folder.path() / "system.jsonl", quick(), no_warning);
  log.enter({.phase = "train", .epoch = 1});
  REQUIRE(comes([&] { return log.window().machine.has_value(); }));
  if (log.window().mean->gpus.empty()) CHECK_FALSE(log.totals().gpu_busy);
  REQUIRE(comes([&] { return log.totals().cpu_spikes.has_value(); }));
}

TEST_CASE("a row that a killed run has begun costs no row of the run that goes on") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "system.jsonl";
  const std::string begun = R"({"at_s":1.0,"machi)";
  std::ofstream(file) << begun;
  {
    SystemLog log(file, quick(), no_warning);
    REQUIRE(comes([&] { return lines_of(content_of(file)).size() > 2; }));
  }
  const std::vector<std::string> rows = lines_of(content_of(file));
  CHECK(rows.front() == begun);
  for (std::size_t i = 1; i < rows.size(); ++i)
    CHECK_MESSAGE(monitor::read_system_line(rows[i]), rows[i]);
}

TEST_CASE("a folder that is removed while a run writes to it does not end its samples") {
  const test::TemporaryFolder folder;
  const auto inner = folder.path() / "run";
  std::filesystem::create_directory(inner);
  SystemLog log(inner / "system.jsonl", quick(), [](const std::string&) {});
  log.enter({.phase = "train", .epoch = 1});
  REQUIRE(comes([&] { return log.window().machine.has_value(); }));
  std::filesystem::remove_all(inner);
  const std::size_t before = log.window().machine->samples;
  CHECK(comes([&] { return log.window().machine->samples > before + 2; }));
}

TEST_CASE("a watch that cannot begin is told, and the run goes on without it") {
  const test::TemporaryFolder folder;
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& line) { warnings.push_back(line); };
  SystemLog log(folder.path() / "system.jsonl",
                {.allocator = {}, .period = std::chrono::milliseconds(0)}, warn);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().starts_with("[system] "));
  log.enter({.phase = "train", .epoch = 1});
  CHECK_FALSE(log.window().machine);
  CHECK_FALSE(log.totals().cpu_spikes);
  CHECK(log.status(80).empty());
}
