#include <headrace/apps/config/fields.h>
#include <headrace/apps/job/goal_settings.h>
#include <headrace/apps/train/goal_report.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cmath>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace::app;
using headrace::test::TemporaryFolder;

namespace {

Goals goals_from(const std::string& text) {
  Goals goals;
  Fields fields;
  describe(fields, goals);
  fields.read(parse_document(text, "job.yaml"));
  return goals;
}

std::string line_of(const std::string& goal, const GoalFacts& facts) {
  return goals_text(judge_goals(goals_from(goal), facts));
}

FoldOutcome outcome(double accuracy, bool tested = true) {
  FoldOutcome one{.selected_by = "accuracy", .validation = {{"accuracy", 0.99}}};
  if (tested) one.test = {{"accuracy", accuracy}, {"f1", accuracy / 2.0}};
  return one;
}

}  // namespace

TEST_CASE("goals of memory end with pass or fail, each with what was wanted and what came") {
  const Goals goals{.ram = headrace::app::Bytes{10ULL << 30},
                    .gpu_memory = headrace::app::Bytes{6ULL << 30}};
  CHECK(goals_text(
            judge_goals(goals, {.ram = 10ULL << 30, .gpu_memory = (6ULL << 30) + (1ULL << 28)})) ==
        "goal ram: at most 10.0 GiB, held 10.0 GiB: pass\n"
        "goal gpu_memory: at most 6.00 GiB, reserved 6.25 GiB: FAIL\n");
  CHECK(goals_text(judge_goals(goals, {.ram = 11ULL << 30})) ==
        "goal ram: at most 10.0 GiB, held 11.0 GiB: FAIL\n"
        "goal gpu_memory: at most 6.00 GiB, not judged: no GPU was used\n");
  CHECK(judge_goals({}, {.ram = 1}).empty());
  CHECK(goals_text(judge_goals({.ram = headrace::app::Bytes{1ULL << 30}}, {})) ==
        "goal ram: at most 1.00 GiB, not judged: it was not measured\n");
}

TEST_CASE("the wait for data passes at its very limit, and fails above") {
  CHECK(line_of("data_wait: 0.05", {.data_wait = 0.012}) ==
        "goal data_wait: at most 5 %, came 1.2 %: pass\n");
  CHECK(line_of("data_wait: 0.05", {.data_wait = 0.05}) ==
        "goal data_wait: at most 5 %, came 5 %: pass\n");
  CHECK(line_of("data_wait: 0.05", {.data_wait = 0.0502}) ==
        "goal data_wait: at most 5 %, came 5.02 %: FAIL\n");
  CHECK(line_of("data_wait: 0", {.data_wait = 0.0}) ==
        "goal data_wait: at most 0 %, came 0 %: pass\n");
  CHECK(line_of("data_wait: 1.0", {.data_wait = 0.000015}) ==
        "goal data_wait: at most 100 %, came 0 %: pass\n");
  CHECK(line_of("data_wait: 0.05", {}) ==
        "goal data_wait: at most 5 %, not judged: no epoch was trained by this process\n");
}

TEST_CASE("a GPU is to be busy at least so long") {
  CHECK(line_of("gpu_busy: 0.8", {.gpu_busy = 0.93}) ==
        "goal gpu_busy: at least 80 %, came 93 %: pass\n");
  CHECK(line_of("gpu_busy: 0.8", {.gpu_busy = 0.8}) ==
        "goal gpu_busy: at least 80 %, came 80 %: pass\n");
  CHECK(line_of("gpu_busy: 0.8", {.gpu_busy = 0.799}) ==
        "goal gpu_busy: at least 80 %, came 79.9 %: FAIL\n");
  CHECK(line_of("gpu_busy: 0.8", {}) ==
        "goal gpu_busy: at least 80 %, not judged: no GPU was used\n");
  CHECK(line_of("gpu_busy: 0.8", {.gpu_memory = 1}) ==
        "goal gpu_busy: at least 80 %, not judged: no sample of the training told\n");
}

TEST_CASE("a run is to take no longer than so long") {
  CHECK(line_of("time: 2h", {.seconds = 7200.0}) ==
        "goal time: at most 2 h 0 min, took 2 h 0 min: pass\n");
  CHECK(line_of("time: 90s", {.seconds = 95.0}) ==
        "goal time: at most 1 min 30 s, took 1 min 35 s: FAIL\n");
  CHECK(line_of("time: 2h", {}) == "goal time: at most 2 h 0 min, not judged: it was not timed\n");
}

TEST_CASE("spikes of the CPU are counted, and none is a goal, too") {
  CHECK(line_of("cpu_spikes: 0", {.cpu_spikes = 0}) ==
        "goal cpu_spikes: at most 0, came 0: pass\n");
  CHECK(line_of("cpu_spikes: 3", {.cpu_spikes = 4}) ==
        "goal cpu_spikes: at most 3, came 4: FAIL\n");
  CHECK(line_of("cpu_spikes: 3", {}) ==
        "goal cpu_spikes: at most 3, not judged: the CPUs were not watched\n");
}

TEST_CASE("accuracy and other figures are those of the results, by their names") {
  const GoalFacts facts{.figures = {{"accuracy", 0.8}, {"mae", 0.06}}, .figures_of = "test"};
  CHECK(line_of("accuracy: 0.8", facts) ==
        "goal accuracy: at least 0.8000, came 0.8000 (test): pass\n");
  CHECK(line_of("accuracy: 0.81", facts) ==
        "goal accuracy: at least 0.8100, came 0.8000 (test): FAIL\n");
  CHECK(line_of("figures: {mae: {most: 0.05}}", facts) ==
        "goal mae: at most 0.0500, came 0.0600 (test): FAIL\n");
  CHECK(line_of("figures: {mae: {least: 0.05}}", facts) ==
        "goal mae: at least 0.0500, came 0.0600 (test): pass\n");
  CHECK(
      line_of("figures: {f1: 0.5}", facts) ==
      "goal f1: at least 0.5000, not judged: there is no such figure, there are: accuracy, mae\n");
  CHECK(line_of("accuracy: 0.8", {.figures = {{"accuracy", NAN}}}) ==
        "goal accuracy: at least 0.8000, not judged: it is not a number\n");
}

TEST_CASE("a goal for a figure that is no number is refused with its place") {
  for (const char* text : {"{f1: good}", "{f1: {most: 1, least: 0}}", "{f1: {below: 1}}",
                           "{f1: [1]}", "{f1: }", "{f1: {most: much}}"}) {
    CAPTURE(text);
    const Goals goals = goals_from(std::string("figures: ") + text);
    CHECK_THROWS_WITH_AS(figure_goals(goals), doctest::Contains("job.yaml:1"),
                         headrace::ConfigError);
  }
  CHECK_THROWS_AS(goals_from("gpu_busy: 80"), headrace::ConfigError);
  CHECK_THROWS_AS(goals_from("data_wait: -0.1"), headrace::ConfigError);
  CHECK_THROWS_AS(goals_from("cpu_spikes: -1"), headrace::ConfigError);
}

TEST_CASE("goals that are written are read again the same") {
  const std::string text =
      "ram: 1GiB\ngpu_busy: 0.8\naccuracy: 0.9\nfigures: {f1: 0.5, mae: {most: 0.1}}\n";
  Goals goals;
  Fields fields;
  describe(fields, goals);
  fields.read(parse_document(text, "job.yaml"));
  const Goals again = goals_from(fields.to_yaml(true));
  CHECK(again.ram == goals.ram);
  CHECK(again.gpu_busy == goals.gpu_busy);
  CHECK(figure_goals(again) == figure_goals(goals));
  CHECK(figure_goals(again).size() == 3);
}

TEST_CASE("what was missed is named, what was not judged is not missed") {
  const Goals goals{.data_wait = 0.05, .cpu_spikes = 0, .accuracy = 0.9};
  CHECK(missed_goals(judge_goals(goals, {.data_wait = 0.5, .figures = {{"accuracy", 0.5}}})) ==
        "data_wait, accuracy");
  CHECK(missed_goals(judge_goals(goals, {})).empty());
}

TEST_CASE("figures are the vote's, else the members' mean, of the test, else of the validation") {
  GoalFacts facts;
  add_figures(facts, {outcome(0.6), outcome(0.8)}, {outcome(0.9)});
  CHECK(facts.figures.at("accuracy") == 0.9);
  CHECK(facts.figures_of == "test, vote");
  add_figures(facts, {outcome(0.6), outcome(0.8)}, {});
  CHECK(facts.figures.at("accuracy") == doctest::Approx(0.7));
  CHECK(facts.figures_of == "test, mean of 2");
  add_figures(facts, {outcome(0.6)}, {});
  CHECK(facts.figures.at("f1") == 0.3);
  CHECK(facts.figures_of == "test");
  add_figures(facts, {outcome(0.6, false)}, {});
  CHECK(facts.figures.at("accuracy") == 0.99);
  CHECK(facts.figures_of == "validation");
  add_figures(facts, {}, {});
  CHECK(facts.figures.empty());
}

TEST_CASE("result.json says the goals beside what it said before") {
  const TemporaryFolder folder;
  write_run_result(folder.path(), {outcome(0.6)}, {});
  write_goals(folder.path(), {});
  const auto read = [&] {
    return nlohmann::json::parse(headrace::test::content_of(folder / "result.json"));
  };
  CHECK_FALSE(read().contains("goals"));
  const Goals goals{.data_wait = 0.05, .cpu_spikes = 0, .accuracy = 0.5};
  GoalFacts facts{.data_wait = 0.25};
  add_figures(facts, {outcome(0.6)}, {});
  for (int twice = 0; twice < 2; ++twice)
    write_goals(folder.path(), judge_goals(goals, facts));
  CHECK(read().at("members").size() == 1);
  const auto list = read().at("goals");
  REQUIRE(list.size() == 3);
  CHECK(list[0] == nlohmann::json{{"goal", "data_wait"},
                                  {"at_most", 0.05},
                                  {"came", 0.25},
                                  {"result", "fail"},
                                  {"sentence", "goal data_wait: at most 5 %, came 25 %: FAIL"}});
  CHECK(list[1] == nlohmann::json{{"goal", "cpu_spikes"},
                                  {"at_most", 0.0},
                                  {"result", "not judged"},
                                  {"why", "the CPUs were not watched"},
                                  {"sentence",
                                   "goal cpu_spikes: at most 0, not judged: the CPUs were not "
                                   "watched"}});
  CHECK(list[2] ==
        nlohmann::json{{"goal", "accuracy"},
                       {"at_least", 0.5},
                       {"came", 0.6},
                       {"result", "pass"},
                       {"sentence", "goal accuracy: at least 0.5000, came 0.6000 (test): pass"}});
  std::ofstream(folder / "result.json") << "nothing";
  CHECK_THROWS_AS(write_goals(folder.path(), judge_goals(goals, facts)), headrace::DataError);
}

TEST_CASE("a run that this process did not train is judged by what came before") {
  const TemporaryFolder folder;
  const Goals goals{
      .ram = headrace::app::Bytes{1ULL << 30}, .cpu_spikes = 0, .time = Duration{1.0}};
  const std::string unknown = "not judged: no epoch was trained by this process\n";
  CHECK(goals_text(judge_goals(goals, earlier_goal_facts(folder.path()))) ==
        "goal ram: at most 1.00 GiB, " + unknown + "goal cpu_spikes: at most 0, " + unknown +
            "goal time: at most 1.00 s, " + unknown);
  write_run_result(folder.path(), {outcome(0.6)}, {});
  const auto first = judge_goals(goals, {.ram = 2ULL << 30, .cpu_spikes = 0, .seconds = 1.5});
  write_goals(folder.path(), first);
  const GoalFacts kept = earlier_goal_facts(folder.path());
  CHECK(goals_text(judge_goals(goals, kept)) == goals_text(first));
  CHECK(kept.figures.empty());
  CHECK(line_of("gpu_busy: 0.8", kept) == "goal gpu_busy: at least 80 %, " + unknown);
  std::ofstream(folder / "result.json") << R"({"goals":[1,{"came":2},{"goal":"ram","came":"x"}]})";
  CHECK_FALSE(earlier_goal_facts(folder.path()).ram);
}

TEST_CASE("a goal that was missed by less than its text shows says so") {
  CHECK(line_of("data_wait: 0.05", {.data_wait = 0.050001}) ==
        "goal data_wait: at most 5 %, came 5 %, a little more: FAIL\n");
  CHECK(goals_text(judge_goals({.ram = headrace::app::Bytes{10ULL << 30}},
                               {.ram = (10ULL << 30) + 4096})) ==
        "goal ram: at most 10.0 GiB, held 10.0 GiB, a little more: FAIL\n");
  CHECK(line_of("gpu_busy: 0.9", {.gpu_memory = 1, .gpu_busy = 0.899999}) ==
        "goal gpu_busy: at least 90 %, came 90 %, a little less: FAIL\n");
}
