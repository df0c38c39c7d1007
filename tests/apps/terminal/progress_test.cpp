#include <headrace/apps/terminal/progress.h>
#include <headrace/tests/apps/text_checks.h>

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::app::LiveBlockOptions;
using headrace::app::Progress;
using headrace::app::TerminalMode;
using headrace::test::contains;

// Off a terminal, each line kept instead of written.
LiveBlockOptions keep(std::vector<std::string>& lines, std::chrono::milliseconds interval) {
  LiveBlockOptions options;
  options.file_descriptor = -1;
  options.mode = TerminalMode::lines;
  options.interval = interval;
  options.on_line = [&lines](const std::string& line) { lines.push_back(line); };
  return options;
}

}  // namespace

TEST_CASE("progress says how much of what is done, its pace and what is left") {
  std::vector<std::string> lines;
  Progress progress("pack", 200, "images", keep(lines, std::chrono::milliseconds(0)));
  progress.show(50, 50);  // nothing of this run yet
  progress.show(100, 50, ", 1.00 MiB");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("pack 50 of 200 images (25 %), 0 images/s, unknown time left"));
  CHECK(lines[1].starts_with("pack 100 of 200 images (50 %), "));
  CHECK(contains(lines[1], " images/s, 1.00 MiB, "));
  CHECK_FALSE(contains(lines[1], "unknown"));
}

TEST_CASE("progress of bytes is shown as amounts") {
  std::vector<std::string> lines;
  Progress progress("pack table: written", 3 << 20, "bytes",
                    keep(lines, std::chrono::milliseconds(0)));
  progress.show(3 << 19);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("pack table: written 1.50 MiB of 3.00 MiB (50 %), "));
  CHECK_FALSE(contains(lines[0], "bytes"));
}

TEST_CASE("progress says nothing when it is too soon, and stands an empty whole") {
  std::vector<std::string> lines;
  Progress progress("prepare", 0, "samples", keep(lines, std::chrono::hours(1)));
  for (int i = 0; i < 100; ++i)
    progress.show(i);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("prepare 0 of 0 samples (0 %)"));
}
