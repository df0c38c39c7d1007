// The monitor on a PyTorch training, beside psutil, for a minute or HEADRACE_MONITOR_SECONDS. Part
// of the long tier: both look at moments that a busy machine moves apart.
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_program;
using headrace::test::skip;
using headrace::test::TemporaryFolder;

// HEADRACE_TORCH_PYTHON, else the one that scripts/setup makes; empty: it cannot run the script.
std::string python_with_psutil() {
  const char* named = std::getenv("HEADRACE_TORCH_PYTHON");
  const std::string program =
      named != nullptr ? named : headrace::test::source_folder() + "/.venv/bin/python";
  const std::string probe = program + " -c 'import psutil, torch' >/dev/null 2>&1";
  return std::system(probe.c_str()) == 0 ? program : std::string();
}

}  // namespace

TEST_CASE("of a PyTorch training's processes the monitor says what psutil does, within 2 %") {
  const std::string program = python_with_psutil();
  if (program.empty()) return skip("needs Python with torch and psutil (scripts/setup)");
  const char* seconds = std::getenv("HEADRACE_MONITOR_SECONDS");
  const TemporaryFolder folder;
  const Finished finished =
      run_program(program,
                  {headrace::test::source_folder() + "/tests/apps/watch/monitor_psutil.py",
                   headrace::test::headrace_program(), seconds != nullptr ? seconds : "60",
                   folder.path().string()},
                  {.folder = folder.path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  const auto result = nlohmann::json::parse(finished.out);
  std::printf("beside psutil: %s\n", finished.out.c_str());
  CAPTURE(finished.out);
  CHECK(result["status"] == 0);
  CHECK(result["samples"].get<int>() >= 5);
  CHECK(result["cpu"].get<double>() < 0.02);
  CHECK(result["memory_samples"].get<int>() >= 3);
  CHECK(result["memory"].get<double>() < 0.02);
  CHECK(result["processes"].get<int>() >= 3);
  const std::string report = content_of(folder.path() / "report.txt");
  CAPTURE(report);
  CHECK(report.find("all that are watched") != std::string::npos);
}
