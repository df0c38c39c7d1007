// What a run says, where it says it, and how much.
#include <headrace/apps/view/run_voice.h>
#include <headrace/tests/apps/pseudo_terminal.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

using namespace headrace::app;
using headrace::test::content_of;
using headrace::test::Ends;

namespace {

constexpr std::int64_t epochs = 20;
constexpr std::int64_t steps_of_epoch = 500;

const std::string step_line =
    "fold 0 epoch 12/20 83 % · 415 samples/s · epoch done in 655 ms · loss 0.2176 lr 0.001 · step "
    "36 ms = data 0 + copy 0 + compute 36 + other 0 · GPU: 85 % | VRAM: 12.3/24.0 GiB (51 %) | "
    "CPU: 45 % | RAM: 18.4/64.0 GiB";

std::string lines_of_epoch(std::int64_t epoch) {
  return std::to_string(epoch) + "/20" + std::string(90, '.') +
         "\n  GPU: 85 % | VRAM: 12.3/24.0 GiB (51 %) | CPU: 45 % | RAM: 18.4/64.0 GiB\n";
}

}  // namespace

TEST_CASE("ten thousand steps are less than 100 KB without a terminal, however slow they are") {
  const headrace::test::TemporaryFolder folder;
  const Ends errors = headrace::test::make_pipe();
  const int before = dup(STDERR_FILENO);
  REQUIRE(dup2(errors.write, STDERR_FILENO) >= 0);
  std::string shown;
  {
    // Without an interval each step is as one that takes ten seconds.
    RunVoice voice(folder.path(), headrace::app::LogLevel::info, std::chrono::milliseconds(0));
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      for (std::int64_t step = 1; step <= steps_of_epoch; ++step)
        voice.show({}, step_line, (epoch - 1) * steps_of_epoch + step);
      voice.rows(lines_of_epoch(epoch));
      shown += errors.drain();
    }
  }
  dup2(before, STDERR_FILENO);
  close(before);
  const std::string log = content_of(folder.path() / "log.txt");
  for (const std::string& text : {shown, log}) {
    CHECK(text.size() < 100'000);
    CHECK(std::ranges::count(text, '\n') == 2 * epochs + 313);
    CHECK(text.find_first_of("\r\x1b") == std::string::npos);
  }
}

TEST_CASE("the first step of a stage may be a line though the stage before has just said one") {
  const headrace::test::TemporaryFolder folder;
  const Ends errors = headrace::test::make_pipe();
  const int before = dup(STDERR_FILENO);
  REQUIRE(dup2(errors.write, STDERR_FILENO) >= 0);
  {
    RunVoice voice(folder.path(), headrace::app::LogLevel::info, std::chrono::milliseconds(0));
    for (const std::int64_t step : {100, 101, 131, 132, 1, 2})
      voice.show({}, "step " + std::to_string(step), step);
  }
  dup2(before, STDERR_FILENO);
  close(before);
  std::string said = errors.drain();
  for (const char* step : {"step 100\n", "step 132\n", "step 1\n"})
    CHECK(said.find(step) != std::string::npos);
  CHECK(std::ranges::count(said, '\n') == 3);
}

TEST_CASE("what programs read of a run's words is an object a line") {
  const headrace::test::TemporaryFolder folder;
  {
    RunVoice voice(folder.path(), headrace::app::LogLevel::error);
    voice.event("start", {{"device", "cpu"}});
    voice.warn("a \"quote\" and {}");
    voice.event("verdict", {{"said", "one\nline \x1b[2J"}});
    voice.fail("[read] row 7");
  }
  std::istringstream lines(content_of(folder.path() / "events.jsonl"));
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(lines, line);)
    events.push_back(nlohmann::json::parse(line));
  REQUIRE(events.size() == 4);
  CHECK(events[0].at("event") == "start");
  CHECK(events[0].at("device") == "cpu");
  CHECK(events[0].at("time").get<std::string>().size() == 20);
  CHECK(events[1].at("said") == "a \"quote\" and {}");
  CHECK(events[2].at("said").get<std::string>().find('\x1b') == std::string::npos);
  CHECK(events[3].at("how") == "failed");
  const std::string log = content_of(folder.path() / "log.txt");
  CHECK(log.find(" warning a \"quote\" and {}\n") != std::string::npos);
  CHECK(log.find(" error [read] row 7\n") != std::string::npos);
}
