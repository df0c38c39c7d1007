#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/tests/support/trace_check.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;
using headrace::test::TraceCheck;

using Words = std::vector<std::string>;

Words traced_bench(const Words& more) {
  Words words{"bench", "loader", headrace::test::source_folder() + "/configs/loader/table.yaml"};
  for (const char* setting :
       {"data.rows=4000", "data.row_bytes=64", "batch=8", "threads.loader=2", "delay.augment=5ms"})
    words.insert(words.end(), {"--set", setting});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("bench loader writes a trace that has its stages, queues and batches") {
  const TemporaryFolder folder;
  const Finished finished =
      run_headrace(folder.path(), traced_bench({"--batches", "50", "--trace", "t.json"}));
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(contains(finished.out, "trace of the bench in t.json ("));
  const TraceCheck check(nlohmann::json::parse(content_of(folder.path() / "t.json")));
  CHECK_MESSAGE(check.faults().empty(), check.faults().front());
  for (const char* stage : {"read", "augment delay", "collate", "transfer", "wait"})
    CHECK_MESSAGE(check.names().contains(stage), stage);
  for (const char* phase : {"M", "X", "C", "b", "e", "s", "f"})
    CHECK_MESSAGE(check.phases().contains(phase), phase);
  CHECK(check.lines().contains("headrace-0"));
  CHECK(check.lines().contains("headrace-1"));
}

TEST_CASE("bench loader without --trace writes none, and says where one cannot be written") {
  const TemporaryFolder folder;
  const Finished without = run_headrace(folder.path(), traced_bench({"--batches", "10"}));
  CHECK(without.status == 0);
  CHECK_FALSE(contains(without.out, "trace"));
  const Finished nowhere =
      run_headrace(folder.path(), traced_bench({"--batches", "10", "--trace", "no/such/t.json"}));
  CHECK(nowhere.status == 4);
  CHECK_MESSAGE(contains(nowhere.err, "[trace] no/such/t.json"), nowhere.err);
}
