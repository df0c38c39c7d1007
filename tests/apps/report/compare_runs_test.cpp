#include <headrace/apps/report/compare_runs.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/report/tag_balance.h>
#include <headrace/tests/apps/report/written_run.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace::app;
using doctest::Approx;
using headrace::test::contains;
using headrace::test::fault_of_markup;
using headrace::test::TemporaryFolder;
using headrace::test::write_run;
using headrace::test::write_text;
using headrace::test::WrittenRun;

namespace {

Comparison compared(const std::vector<WrittenRun>& runs) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> folders;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    folders.push_back(folder / ("run-" + std::to_string(i)));
    write_run(folders.back(), runs[i]);
  }
  return compare_runs(folders);
}

const ComparedFigure& figure(const Comparison& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.figures.begin(), comparison.figures.end(),
                                  [&](const ComparedFigure& one) { return one.name == name; });
  REQUIRE_MESSAGE(found != comparison.figures.end(), name);
  return *found;
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    width = std::max(width, text_width(line));
  return width;
}

}  // namespace

TEST_CASE("a difference says how large it is and how sure, in the words of what it counts") {
  const Spread first = spread_over({100, 102, 98, 101, 99});
  const Spread other = spread_over({88, 91, 90, 87});
  const FigureDifference rate = difference_of(FigureKind::rate, first, other);
  CHECK(rate.finding == DifferenceKind::differs);
  CHECK(rate.change == Approx(-11.0));
  CHECK(rate.half_width == Approx(2.82010829395268));
  CHECK(rate.words == "slower by 11.0 ± 2.82 %");
  CHECK(difference_of(FigureKind::rate, other, first).words == "faster by 12.4 ± 3.17 %");
  CHECK(difference_of(FigureKind::seconds, first, other).words == "shorter by 11.0 ± 2.82 %");
  CHECK(difference_of(FigureKind::bytes, other, first).words == "more by 12.4 ± 3.17 %");
  CHECK(difference_of(FigureKind::learnt, first, other).words == "lower by 11.0000 ± 2.8201");
  CHECK(difference_of(FigureKind::share, spread_over({0.5, 0.52, 0.48}),
                      spread_over({0.1, 0.12, 0.08}))
            .words == "lower by 40.0 ± 4.53 points");
}

TEST_CASE("what noise can explain is no difference, and without noise nothing is claimed") {
  const Spread first = spread_over({100, 110, 90});
  const FigureDifference within =
      difference_of(FigureKind::rate, first, spread_over({101, 111, 95}));
  CHECK(within.finding == DifferenceKind::within_noise);
  CHECK(within.words == "no difference beyond noise");
  CHECK(contains(within.amount, "+2.33 ± "));
  const FigureDifference alone = difference_of(FigureKind::rate, first, spread_over({200}));
  CHECK(alone.finding == DifferenceKind::noise_unknown);
  CHECK(alone.words == "one value only: no noise known");
  CHECK(alone.amount == "+100 %");
  CHECK(difference_of(FigureKind::rate, first, {}).finding == DifferenceKind::missing);
  CHECK(difference_of(FigureKind::rate, spread_over({5}), spread_over({5})).words == "the same");
  CHECK(difference_of(FigureKind::seconds, spread_over({0, 0}), spread_over({0, 0})).words ==
        "the same");
  CHECK(contains(difference_of(FigureKind::seconds, spread_over({0, 0}), spread_over({1, 1})).words,
                 "the first is 0"));
}

TEST_CASE("a loss that has grown without an end is told in a few letters") {
  const FigureDifference lost =
      difference_of(FigureKind::learnt, spread_over({0.5, 0.6, 1e300}), spread_over({1e30, 3e30}));
  CHECK(lost.words == "no difference beyond noise");
  CHECK(lost.amount == "+2e+30 ± 1.271e+31");
  CHECK(figure_value(FigureKind::learnt, 123456.7891) == "123456.7891");
}

TEST_CASE("runs that differ in speed are told apart, without their first epoch") {
  const Comparison comparison =
      compared({{.epochs = 7, .step_s = 0.1}, {.epochs = 7, .step_s = 0.08}});
  const ComparedFigure& step = figure(comparison, "step");
  CHECK(step.runs[0].count == 6);
  CHECK(step.runs[0].mean == Approx(0.1));
  CHECK(step.differences[0].finding == DifferenceKind::differs);
  CHECK(step.differences[0].change == Approx(-20.0));
  const ComparedFigure& rate = figure(comparison, "samples/s");
  CHECK(rate.runs[0].mean == Approx(320.0).epsilon(0.01));
  CHECK(contains(rate.differences[0].words, "faster by 25.0 ± "));
  CHECK(figure(comparison, "step: copy").differences[0].words == "the same");
  CHECK(figure(comparison, "memory held, most").differences[0].words == "the same");
}

TEST_CASE("runs that are alike show no difference beyond noise") {
  const Comparison comparison = compared(
      {{.epochs = 7, .step_s = 0.1, .noise = 0.05}, {.epochs = 7, .step_s = 0.101, .noise = 0.05}});
  CHECK(figure(comparison, "step").differences[0].finding == DifferenceKind::within_noise);
  CHECK(comparison.configuration.empty());
  CHECK(comparison.environment.empty());  // the number of a process is no difference
  CHECK(contains(to_text(comparison, 80), "no key differs"));
}

TEST_CASE("what was learnt has noise over members alone") {
  const Comparison one = compared({{.accuracy = 0.8}, {.accuracy = 0.9}});
  CHECK(figure(one, "test accuracy").differences[0].finding == DifferenceKind::noise_unknown);
  const Comparison folds =
      compared({{.members = 5, .accuracy = 0.7}, {.members = 5, .accuracy = 0.9}});
  const ComparedFigure& test = figure(folds, "test accuracy");
  CHECK(test.runs[1].count == 5);
  CHECK(test.runs[1].mean == Approx(0.87));
  CHECK(test.differences[0].finding == DifferenceKind::differs);
  CHECK(contains(test.differences[0].words, "higher by 0.2000 ± 0.0231"));
}

TEST_CASE("keys and machines are compared one by one") {
  const Comparison comparison =
      compared({{.epochs = 3}, {.epochs = 4, .batch = 64, .host = "node-2"}});
  REQUIRE(comparison.configuration.size() == 2);
  CHECK(comparison.configuration[0].key == "training.epochs");
  CHECK(comparison.configuration[1].key == "training.batch");
  CHECK(comparison.configuration[1].values == std::vector<std::string>{"32", "64"});
  REQUIRE(comparison.environment.size() == 1);
  CHECK(comparison.environment[0].key == "kernel.host");
  REQUIRE(comparison.sentences.size() == 2);
  CHECK(contains(comparison.sentences[0], "The machines differ"));
  CHECK(contains(comparison.sentences[1], "different numbers of epochs (A 3, B 4)"));
}

TEST_CASE("runs of different kinds and runs that were killed are compared as far as they go") {
  const Comparison comparison =
      compared({{.kind = "glaucoma"}, {.epochs = 2, .kind = "leak", .finished = false}});
  CHECK(contains(comparison.sentences[0], "different kinds (A glaucoma, B leak)"));
  CHECK(contains(comparison.sentences.back(), "Run B has not said how it ended"));
  CHECK(figure(comparison, "test accuracy").differences[0].finding == DifferenceKind::missing);
  // Of a run that is not done the best epoch so far.
  CHECK(figure(comparison, "validation accuracy, kept").runs[1].mean == Approx(0.75));
}

TEST_CASE("runs of one epoch are compared without a claim") {
  const Comparison comparison = compared({{.epochs = 1}, {.epochs = 1, .step_s = 0.2}});
  CHECK(figure(comparison, "step").differences[0].finding == DifferenceKind::noise_unknown);
  CHECK(contains(to_text(comparison, 400), "glaucoma, 1 epoch, finished"));
}

TEST_CASE("a run without epochs can be compared, and one that is none cannot") {
  const TemporaryFolder folder;
  write_run(folder / "good");
  write_text(folder / "config.yaml", "kind: glaucoma\n");
  write_text(folder / "log.txt", "");
  const Comparison comparison = compare_runs({folder / "good", folder.path()});
  CHECK(figure(comparison, "step").differences[0].finding == DifferenceKind::missing);
  CHECK_NOTHROW(to_text(comparison, 80));
  CHECK_THROWS_AS(compare_runs({folder / "good", folder / "nowhere"}), headrace::ConfigError);
  CHECK_THROWS_AS(compare_runs({folder / "good"}), headrace::ConfigError);
}

TEST_CASE("no table is wider than the terminal") {
  const std::vector<WrittenRun> runs{{.members = 3, .epochs = 4},
                                     {.members = 3, .epochs = 7, .step_s = 1.7, .batch = 1024},
                                     {.members = 1, .epochs = 5, .kind = "leak", .host = "n3"},
                                     {.members = 2, .epochs = 6, .step_s = 0.0001}};
  for (std::size_t count = 2; count <= runs.size(); ++count) {
    const Comparison comparison = compared({runs.begin(), runs.begin() + static_cast<long>(count)});
    for (const std::size_t columns : {80U, 100U, 140U, 200U, 400U}) {
      CAPTURE(count);
      CAPTURE(columns);
      const std::string text = to_text(comparison, columns);
      CHECK(widest(text) <= columns);
      for (std::size_t run = 1; run < count; ++run)
        CHECK(contains(text, letter_of(run) + " to A"));
    }
  }
}

TEST_CASE("a wide terminal is told amounts and spreads") {
  const Comparison comparison =
      compared({{.epochs = 7}, {.epochs = 7, .step_s = 0.11, .accuracy = 0.85}});
  const std::string narrow = to_text(comparison, 80);
  const std::string wide = to_text(comparison, 200);
  CHECK_FALSE(contains(narrow, "(n 6)"));
  CHECK(contains(narrow, "one value only: no noise known\n"));
  CHECK(contains(wide, "(n 6)"));
  CHECK(contains(wide, "one value only: no noise known (+0.0500)\n"));
}

TEST_CASE("a comparison as JSON has what was found, null where nothing is known") {
  const Comparison comparison =
      compared({{.epochs = 7}, {.epochs = 7, .step_s = 0.08, .batch = 64, .finished = false}});
  const auto json = nlohmann::json::parse(to_json(comparison));
  CHECK(json["runs"].size() == 2);
  CHECK(json["runs"][0]["kind"] == "glaucoma");
  CHECK(json["configuration"][0]["key"] == "training.batch");
  CHECK(json["configuration"][0]["values"][1] == "64");
  for (const auto& one : json["figures"]) {
    if (one["name"] == "test accuracy") {
      CHECK(one["runs"][1].is_null());
      CHECK(one["differences"][0]["change"].is_null());
      CHECK(one["runs"][0]["standard_deviation"].is_null());
    }
    if (one["name"] == "step") {
      CHECK(one["counts"] == "seconds");
      CHECK(one["runs"][0]["count"] == 6);
      CHECK(one["differences"][0]["finding"] == "differs");
      CHECK(one["differences"][0]["change"].get<double>() == Approx(-20.0));
    }
  }
}

TEST_CASE("the page of a comparison looks nothing up and has both runs in each curve") {
  Comparison comparison = compared({{.kind = "<script>"}, {.members = 3}});
  const std::string page = to_page(comparison);
  CHECK(fault_of_markup(page) == "");
  for (const char* wrong : {"http:", "https:", "<script", "url("})
    CHECK_FALSE(contains(page, wrong));
  CHECK(contains(page, ">A validation</span>"));
  CHECK(contains(page, ">B validation</span>"));
  CHECK(contains(page, "Time of an epoch"));
}
