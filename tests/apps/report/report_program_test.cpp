#include <headrace/tests/apps/report/tag_balance.h>
#include <headrace/tests/apps/report/written_run.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::fault_of_markup;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;
using headrace::test::write_run;

TEST_CASE("headrace report writes one page and says where") {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const Finished inside = run_headrace(folder.path(), {"report", "run"});
  REQUIRE_MESSAGE(inside.status == 0, inside.err);
  CHECK(inside.out == "run/report.html\n");
  CHECK(fault_of_markup(content_of(folder / "run" / "report.html")) == "");
  CHECK(
      contains(content_of(folder / "run" / "report.html"), "Keys that are not at their defaults"));
  const Finished elsewhere =
      run_headrace(folder.path(), {"report", "run/", "--output", "page.html"});
  REQUIRE_MESSAGE(elsewhere.status == 0, elsewhere.err);
  CHECK(contains(content_of(folder / "page.html"), "<h1>run</h1>"));
}

TEST_CASE("a page that cannot be written is refused with the option that names another file") {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const Finished finished =
      run_headrace(folder.path(), {"report", "run", "--output", "nowhere/page.html"});
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "[report] --output must name a file in a folder that is there"));
  CHECK(contains(finished.err, "nowhere/page.html"));
}

TEST_CASE("a page that has no room in its run ends with 4 and says how to have it elsewhere") {
  const TemporaryFolder folder;
  write_run(folder / "run");
  std::filesystem::create_directory(folder / "run" / "report.html");
  const Finished finished = run_headrace(folder.path(), {"report", "run"});
  CHECK(finished.status == 4);
  CHECK(contains(finished.err, "[report] run/report.html"));
  CHECK(contains(finished.err, "--output names another file"));
}

TEST_CASE("headrace report and compare end with 2 for a folder that is no run") {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const Finished report = run_headrace(folder.path(), {"report", "."});
  CHECK(report.status == 2);
  CHECK(contains(report.err, "must be the folder of a run"));
  CHECK_FALSE(std::filesystem::exists(folder / "report.html"));
  CHECK(run_headrace(folder.path(), {"compare", "run", "nowhere"}).status == 2);
  CHECK(run_headrace(folder.path(), {"compare", "run"}).status == 2);
}

TEST_CASE("headrace compare prints tables, and writes JSON and a page where that is wanted") {
  const TemporaryFolder folder;
  write_run(folder / "a", {.epochs = 7});
  write_run(folder / "b", {.epochs = 7, .step_s = 0.08, .batch = 64});
  const Finished finished =
      run_headrace(folder.path(), {"compare", "a", "b", "--json", "c.json", "--output", "c.html"});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(contains(finished.out, "training.batch  32  64"));
  CHECK(contains(finished.out, "shorter by 20.0 ± "));
  CHECK(nlohmann::json::parse(content_of(folder / "c.json"))["runs"].size() == 2);
  CHECK(fault_of_markup(content_of(folder / "c.html")) == "");
}
