#include <headrace/apps/report/run_record.h>
#include <headrace/apps/report/step_history.h>
#include <headrace/apps/report/text_lines.h>
#include <headrace/apps/report/write_report.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/train/goal_report.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/report/written_run.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace::app;
using headrace::test::append_text;
using headrace::test::contains;
using headrace::test::TemporaryFolder;
using headrace::test::write_run;
using headrace::test::write_text;
namespace fs = std::filesystem;

TEST_CASE("a run folder is read back whole") {
  const TemporaryFolder folder;
  write_run(folder / "run", {.members = 2, .epochs = 3});
  const RunRecord run = read_run(folder / "run");
  CHECK(run.name == "run");
  CHECK(run.kind == "glaucoma");
  CHECK(run.remarks.empty());
  CHECK(run.end == RunEnd::finished);
  CHECK(run.epochs.rows().size() == 6);
  CHECK(run.epochs.members() == std::vector<std::int64_t>{0, 1});
  CHECK(run.epochs.figures() == std::vector<std::string>{"loss", "accuracy"});
  REQUIRE(run.results.size() == 2);
  CHECK(run.results[1].member == "fold 1");
  CHECK(run.results[1].best_epoch == 2);
  CHECK(run.environment_of("cpu.usable_cores") == "4");
  CHECK(run.events.device == "cpu (auto: no GPU); 2 threads for LibTorch");
  REQUIRE(run.goals.size() == 1);
  CHECK(run.goals[0].passed == true);
  REQUIRE(run.events.verdicts.size() == 1);  // they say the same
  CHECK(run.events.verdicts[0].times == 3);
  CHECK(contains(run.events.verdicts[0].text, "32 samples/s"));
  REQUIRE(run.events.warnings.size() == 1);
  REQUIRE(run.began());
  CHECK(*run.ended - *run.began() == doctest::Approx(3600.9));
}

TEST_CASE("a folder that holds no run is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(read_run(folder.path()), headrace::ConfigError);
  CHECK_THROWS_AS(read_run(folder / "nowhere"), headrace::ConfigError);
  write_text(folder / "log.txt", "x\n");
  CHECK_THROWS_WITH_AS(read_run(folder.path()), doctest::Contains("must be the folder of a run"),
                       headrace::ConfigError);
  write_text(folder / "config.yaml", "kind: x\n");
  CHECK(read_run(folder.path()).kind == "x");
}

TEST_CASE("each file of a run may be missing, empty, torn or something else") {
  const std::vector<std::string> files{"config.yaml", "command.txt",   "env.json",   "events.jsonl",
                                       "metrics.csv", "metrics.jsonl", "result.json"};
  for (const std::string& file : files) {
    for (const std::string& content :
         {std::string("missing"), std::string(), std::string("{\"a\": [1, 2"),
          std::string("\0\xff\n[]\n", 6), std::string("[1]"), std::string("a: [")}) {
      CAPTURE(file);
      CAPTURE(content);
      const TemporaryFolder folder;
      write_run(folder / "run");
      if (content == "missing")
        fs::remove(folder / "run" / file);
      else
        write_text(folder / "run" / file, content);
      CHECK_NOTHROW(read_run(folder / "run"));
      CHECK_NOTHROW(read_steps(folder / "run" / "metrics.jsonl"));
    }
  }
}

TEST_CASE("files that nest without an end are left out, and that is said") {
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  const TemporaryFolder folder;
  write_run(folder.path());
  for (const char* file : {"env.json", "result.json"})
    write_text(folder / file, "{\"members\":[{\"member\":" + deep + "}]}\n");
  for (const char* file : {"system.jsonl", "advice.jsonl", "bad_samples.jsonl", "metrics.jsonl"})
    write_text(folder / file, "{\"at_s\":1,\"step\":1,\"phase\":" + deep + ",\"verdict\":" + deep +
                                  "}\n{\"at_s\":1,\"phase\":\"]]]][[[[\\\"{{{\"}\n");
  const RunRecord run = read_run(folder.path());
  CHECK(run.remarks.size() == 2);
  CHECK(run.results.empty());
  const std::string page = report_page(folder.path());
  for (const char* said : {"env.json: nests too deeply", "system.jsonl: 1 of 2 lines",
                           "advice.jsonl: 1 of 2 lines", "metrics.jsonl: 1 of 2 lines"}) {
    CAPTURE(said);
    CHECK(contains(page, said));
  }
  CHECK_FALSE(nests_deeply("{\"a\":\"" + std::string(100, '{') + "\"}"));
}

TEST_CASE("the row that a killed run was writing is left out, and that is said") {
  const TemporaryFolder folder;
  write_run(folder.path(), {.epochs = 3, .finished = false});
  append_text(folder / "metrics.csv", "0,3,400,0.2");
  append_text(folder / "metrics.jsonl", "{\"member\":0,\"epoch\":3,\"st");
  const RunRecord run = read_run(folder.path());
  CHECK(run.epochs.rows().size() == 3);
  REQUIRE(run.remarks.size() == 1);
  CHECK(contains(run.remarks[0], "metrics.csv: its last row is torn"));
  CHECK(run.end == RunEnd::elsewhere);  // written_run's node-1
  const StepHistory steps = read_steps(folder / "metrics.jsonl");
  CHECK(steps.count.broken == 1);
  CHECK(steps.count.lines == 6);
}

TEST_CASE("an epoch that was done again counts once, as it was at last") {
  const TemporaryFolder folder;
  write_run(folder.path());
  write_text(
      folder / "metrics.csv",
      "member,stage,epoch,val_loss\n0,first,0,0.5\n0,first,1,0.4\n0,second,0,0.3\n0,first,1,0.1\n");
  const EpochLog log = read_run(folder.path()).epochs;
  REQUIRE(log.rows().size() == 3);
  CHECK(log.value(log.rows()[1], "val_loss") == 0.1);
  CHECK(std::isnan(log.value(log.rows()[1], "nothing")));
}

TEST_CASE("a folder that a run is at work in says so, and is left to it") {
  const TemporaryFolder folder;
  RunFolder work = RunFolder::create(folder.path(), "run");
  work.write_config("kind: glaucoma\n");
  write_text(work.path() / "log.txt", "2026-11-27T10:00:00.000Z info run folder x\n");
  CHECK(read_run(work.path()).end == RunEnd::running);
  CHECK_THROWS_AS(RunFolder::open(work.path()), headrace::ConfigError);  // still kept
}

TEST_CASE("goals are told by result.json, in its words") {
  const TemporaryFolder folder;
  write_run(folder.path());
  write_goals(folder.path(),
              judge_goals({.ram = Bytes{10ULL << 30}, .gpu_busy = 0.8, .data_wait = 0.05},
                          {.ram = 11ULL << 30, .data_wait = 0.012}));
  const RunRecord run = read_run(folder.path());
  REQUIRE(run.goals.size() == 3);
  CHECK(run.goals[0].sentence == "goal ram: at most 10.0 GiB, held 11.0 GiB");
  CHECK(run.goals[0].passed == false);
  CHECK(run.goals[1].sentence == "goal gpu_busy: at least 80 %, not judged: no GPU was used");
  CHECK_FALSE(run.goals[1].passed);
  CHECK(run.goals[2].sentence == "goal data_wait: at most 5 %, came 1.2 %");
  CHECK(run.goals[2].passed == true);
}

TEST_CASE("goals that nobody wrote so break nothing") {
  const TemporaryFolder folder;
  write_run(folder.path());
  write_text(
      folder / "result.json",
      "{\"members\": [], \"goals\": [7, {\"goal\": {}, \"at_most\": [], \"result\": 5}, {}, "
      "{\"goal\": \"ram\", \"at_most\": 5, \"came\": 4, \"result\": \"pass\", \"sentence\": 3}]}");
  const RunRecord run = read_run(folder.path());
  REQUIRE(run.goals.size() == 3);
  CHECK_FALSE(run.goals[0].passed);
  CHECK(run.goals[2].passed == true);
}

TEST_CASE("samples a second of an epoch weigh its rows by their time") {
  const TemporaryFolder folder;
  write_text(folder / "metrics.jsonl",
             "{\"member\":0,\"epoch\":0,\"step\":10,\"samples_per_s\":100}\n"
             "{\"member\":0,\"epoch\":0,\"step\":20,\"samples_per_s\":300}\n"
             "{\"member\":0,\"epoch\":0,\"step\":20,\"train_loss\":1}\n"
             "{\"member\":0,\"phase\":\"test\",\"process_bytes\":7}\n");
  const StepHistory steps = read_steps(folder / "metrics.jsonl");
  CHECK(steps.rates.at({0, "", 0}) == doctest::Approx(150.0));
  REQUIRE(steps.phases.size() == 1);
  CHECK(steps.phases[0].process == 7.0);
  CHECK(std::isnan(steps.phases[0].tensors_peak));
}

TEST_CASE("steps of several stages stand end to end") {
  const TemporaryFolder folder;
  std::string text;
  for (const char* stage : {"first", "second"})
    for (const int step : {1, 50, 100})
      text += "{\"member\":0,\"stage\":\"" + std::string(stage) +
              "\",\"epoch\":0,\"step\":" + std::to_string(step) +
              ",\"loss\":0.5,\"samples_per_s\":10}\n";
  write_text(folder / "metrics.jsonl", text);
  const auto points = read_steps(folder / "metrics.jsonl").curves.at("loss").at(0).points();
  REQUIRE(points.size() == 6);
  CHECK(points[3].x == 101.0);
  CHECK(points[5].x == 200.0);
}

TEST_CASE("a line without an end is no harm") {
  const TemporaryFolder folder;
  write_text(folder / "lines", "a\n\n" + std::string(longest_line + 1, 'x') + "\nlast");
  std::vector<std::string> lines;
  const LineCount count =
      for_each_line(folder / "lines", [&](const std::string& line) { lines.push_back(line); });
  CHECK(lines == std::vector<std::string>{"a", "", "last"});
  CHECK(count.broken == 1);
  CHECK_FALSE(for_each_line(folder / "nowhere", [](const std::string&) {}).there);
  CHECK_FALSE(for_each_line(folder.path(), [](const std::string&) {}).there);
}

TEST_CASE("times are read to the millisecond and nothing else is one") {
  CHECK(*parse_utc("1970-01-02T00:00:01.500Z") == 86401.5);
  CHECK(*parse_utc("2026-11-27T23:46:25Z") == 1795823185.0);
  for (const char* wrong : {"", "2026", "2026-11-27", "2026-11-27T23:46:25", "2026-13-27T23:46:25Z",
                            "2026-11-27T23:46:25Zx", "2026-11-27T25:46:25Z", "error"}) {
    CAPTURE(std::string(wrong));
    CHECK_FALSE(parse_utc(wrong));
  }
  CHECK(shown_utc(1795823185.0) == "2026-11-27 23:46:25");
  CHECK(shown_utc(std::nan("")).empty());
}
