// What a run has said in events.jsonl, read back with the rest of its folder.
#include <headrace/apps/report/run_record.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/tests/apps/report/written_run.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace headrace::app;
using headrace::test::append_text;
using headrace::test::event_line;
using headrace::test::TemporaryFolder;
using headrace::test::write_run;
using headrace::test::write_text;
namespace fs = std::filesystem;

namespace {

const std::string resume_line = event_line("2026-11-27T12:10:00Z", "resume", R"("device":"cpu")");
const std::string stopped_line =
    event_line("2026-11-27T12:00:00Z", "end", R"("how":"stopped","said":"stopped and saved")");
const std::string failed_line = event_line(
    "2026-11-27T11:00:02Z", "end", R"("how":"failed","said":"[loss] must be finite, got nan")");

}  // namespace

TEST_CASE("how a run ended is what it says last, of the process that came last") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.finished = false});
  append_text(folder / "events.jsonl", failed_line);
  CHECK(read_run(folder.path()).end == RunEnd::failed);
  CHECK(read_run(folder.path()).end_words == "[loss] must be finite, got nan");
  append_text(folder / "events.jsonl", resume_line);
  CHECK(read_run(folder.path()).end == RunEnd::elsewhere);
  append_text(folder / "events.jsonl", stopped_line);
  CHECK(read_run(folder.path()).end == RunEnd::stopped);
}

TEST_CASE("a run that went on has not finished by the result that it found") {
  const TemporaryFolder folder;
  write_run(folder.path());
  CHECK(read_run(folder.path()).end == RunEnd::finished);
  append_text(folder / "events.jsonl", stopped_line);
  CHECK(read_run(folder.path()).end == RunEnd::stopped);  // while it was tested
  append_text(folder / "events.jsonl", resume_line);
  CHECK(read_run(folder.path()).end == RunEnd::elsewhere);
  append_text(folder / "events.jsonl",
              event_line("2026-11-27T12:20:00Z", "end", R"("how":"done","said":"figures")"));
  CHECK(read_run(folder.path()).end == RunEnd::finished);
}

TEST_CASE("a run of before there were events shows nothing of them") {
  const TemporaryFolder folder;
  write_run(folder.path());
  fs::remove(folder / "events.jsonl");
  const RunRecord run = read_run(folder.path());
  CHECK(run.end == RunEnd::finished);  // by its result
  CHECK(run.remarks.empty());
  CHECK(run.events.device.empty());
  CHECK(run.events.verdicts.empty());
  CHECK(run.began() == parse_utc("2026-11-27T10:00:00Z"));  // of env.json
  CHECK_FALSE(run.ended);
  append_text(folder / "events.jsonl", resume_line);  // and was killed then
  CHECK(read_run(folder.path()).end == RunEnd::elsewhere);
  fs::remove(folder / "events.jsonl");
  fs::remove(folder / "result.json");
  CHECK(read_run(folder.path()).end == RunEnd::elsewhere);
}

TEST_CASE("a run that was killed has lasted to its last sample") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.finished = false});
  append_text(folder / "system.jsonl",
              "{\"time\":\"2026-11-27T18:00:00Z\",\"at_s\":1}\n{\"of\":\"no time\"}\n");
  CHECK(read_run(folder.path()).ended == parse_utc("2026-11-27T18:00:00Z"));
}

TEST_CASE("a verdict that had no room does not lengthen one that had") {
  const TemporaryFolder folder;
  write_run(folder.path());
  const auto verdict = [](const std::string& time, std::size_t bottleneck) {
    return event_line("2026-11-28T" + time + "Z", "verdict",
                      "\"verdict\":\"input-bound\",\"bottleneck\":\"" + std::to_string(bottleneck) +
                          "\",\"said\":\"x\"");
  };
  std::string lines;
  for (std::size_t i = 1; i <= 200; ++i)
    lines += verdict("10:00:00", i);
  write_text(folder / "events.jsonl", lines + verdict("11:00:00", 201) + verdict("12:00:00", 200));
  const RunRecord run = read_run(folder.path());
  REQUIRE(run.events.verdicts.size() == 200);
  CHECK(run.events.verdicts.back().last == parse_utc("2026-11-28T10:00:00Z"));
  CHECK(run.events.more_verdicts == 2);
}

TEST_CASE("a folder whose process lives on is at work only while it is open") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.finished = false});
  write_text(folder / "env.json", "{\"pid\": " + std::to_string(::getpid()) + "}");
  CHECK(read_run(folder.path()).end == RunEnd::killed);
  const headrace::FolderLock work(folder.path());
  CHECK(read_run(folder.path()).end == RunEnd::running);
  append_text(folder / "events.jsonl", failed_line);
  CHECK(read_run(folder.path()).end == RunEnd::failed);  // as it says of itself
}

TEST_CASE("a warning that comes again is one, and a verdict that comes back is another") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.epochs = 1});
  const auto add = [&](const char* time, const char* event, const char* facts) {
    append_text(folder / "events.jsonl", event_line(time, event, facts));
  };
  add("2026-11-27T11:07:00Z", "warning", R"("said":"something is odd")");
  add("2026-11-27T11:07:30Z", "verdict", R"("verdict":"not input-bound","said":"a")");
  add("2026-11-27T11:08:00Z", "verdict",
      R"("verdict":"highly input-bound","bottleneck":"decode","said":"b")");
  const RunEvents events = read_run(folder.path()).events;
  REQUIRE(events.warnings.size() == 1);
  CHECK(events.warnings[0].times == 2);
  CHECK(shown_utc(events.warnings[0].last) == "2026-11-27 11:07:00");
  CHECK(events.verdicts.size() == 3);
}
