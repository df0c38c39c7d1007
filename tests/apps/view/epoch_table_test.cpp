// A line an epoch, under one head, no wider than where it is shown.
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/view/epoch_table.h>
#include <headrace/tests/apps/text_checks.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::EpochFacts;
using app::EpochLine;
using app::EpochTable;
using test::contains;
using test::lines_of;

namespace {

EpochFacts epoch(std::int64_t number) {
  return {.epoch = number,
          .learning_rate = 9.8e-5,
          .train = {{"loss", 0.54321}, {"accuracy", 0.8125}},
          .validation = {{"loss", 0.4321}, {"accuracy", 0.8301}},
          .selected_by = "accuracy",
          .improved = true,
          .seconds = 250.0};
}

EpochLine line(std::size_t columns, bool on_gpu = true) {
  return {.epochs = 20,
          .budget = {.steps = 100,
                     .on_gpu = on_gpu,
                     .wall_s = 9.8,
                     .data_wait_s = 0.1,
                     .compute_s = 9.5,
                     .other_s = 0.2},
          .peak_memory = 1'900ULL << 20,
          .columns = columns};
}

std::size_t widest(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& one : lines)
    width = std::max(width, app::text_width(one));
  return width;
}

}  // namespace

TEST_CASE("on 100 columns an epoch is one line under a head that comes once") {
  EpochTable table;
  const std::string first = table.lines(epoch(0), line(100));
  CHECK(first ==
        "                   loss        accuracy\n"
        "epoch     train     val   train     val       lr     time     step  data  copy   gpu  "
        "other\n"
        "--------------------------------------------------------------------------------------"
        "-----\n"
        "1/20 *   0.5432  0.4321  0.8125  0.8301  9.8e-05     4:10  98.0 ms  1.0%  0.0%   97%   "
        "2.0%\n");
  EpochFacts next = epoch(1);
  next.improved = false;
  CHECK(table.lines(next, line(100)) ==
        "2/20     0.5432  0.4321  0.8125  0.8301  9.8e-05     4:10  98.0 ms  1.0%  0.0%   97%   "
        "2.0%\n");
  CHECK(widest(lines_of(first)) <= 100);
}

TEST_CASE("below 100 columns the step budget is a second line") {
  EpochTable table;
  const auto lines = lines_of(table.lines(epoch(0), line(80)));
  REQUIRE(lines.size() == 5);
  CHECK(lines[3] == "1/20 *   0.5432  0.4321  0.8125  0.8301  9.8e-05     4:10  1.86 GiB");
  CHECK(lines[4] == "  step 98 ms = data 1 + copy 0 + gpu 95 + other 2 (100 steps)");
  CHECK(widest(lines) <= 80);
  CHECK(lines_of(table.lines(epoch(1), line(80))).size() == 2);
}

TEST_CASE("no line is wider than the terminal, whatever its width and the figures' names") {
  EpochFacts facts = epoch(999);
  const std::string name = "a_figure_with_a_name_that_is_longer_than_any_column";
  facts.train.emplace_back(name, -1234567.0);
  facts.validation = {
      {"loss", 1e30}, {name, EpochFacts::none}, {"other_one", -0.5}, {"accuracy", 1.0}};
  facts.selected_by = name;
  for (const std::int64_t epochs : {1, 1000, 1'000'000}) {
    for (std::size_t columns = 20; columns <= 220; ++columns) {
      for (const bool on_gpu : {false, true}) {
        EpochLine at = line(columns, on_gpu);
        at.epochs = epochs;
        at.budget.wall_s = 1e6;
        at.budget.compute_s = 1e6;
        EpochTable table;
        const auto lines = lines_of(table.lines(facts, at));
        CAPTURE(columns);
        CAPTURE(epochs);
        CHECK(widest(lines) <= columns);
        if (columns >= 40) CHECK(lines.size() == (columns < 100 ? 5 : 4));
      }
    }
  }
}

TEST_CASE("on 60 columns the losses and the figure that selects are still there") {
  EpochFacts facts = epoch(0);
  facts.validation.insert(facts.validation.begin() + 1, {"auc", 0.9});
  facts.validation.emplace_back("f1", 0.75);
  facts.selected_by = "f1";
  EpochTable table;
  const auto lines = lines_of(table.lines(facts, line(60)));
  CHECK(widest(lines) <= 60);
  CHECK(contains(lines[0], "f1"));
  CHECK(contains(lines[3], "0.5432  0.4321  0.7500"));
}

TEST_CASE("beside the loss there are two figures, first the one that selects") {
  EpochFacts facts = epoch(0);
  facts.validation = {{"loss", 0.5}, {"auc", 0.9}, {"accuracy", 0.8}, {"f1", 0.7}};
  facts.selected_by = "f1";
  EpochTable table;
  const auto lines = lines_of(table.lines(facts, line(200)));
  const auto f1 = lines[0].find("f1");
  const auto auc = lines[0].find("auc");
  REQUIRE(f1 != std::string::npos);
  REQUIRE(auc != std::string::npos);
  CHECK(f1 < auc);
  CHECK_FALSE(contains(lines[0], "accuracy"));
  CHECK(contains(lines[1], "memory"));
}

TEST_CASE("a figure that comes later brings a new head, one that stays away leaves a gap") {
  EpochTable table;
  EpochFacts facts = epoch(0);
  facts.validation = {};
  CHECK(lines_of(table.lines(facts, line(100))).size() == 4);
  CHECK(lines_of(table.lines(epoch(1), line(100))).size() == 4);
  const auto third = lines_of(table.lines(facts, line(100)));
  REQUIRE(third.size() == 1);
  CHECK(contains(third[0], "0.5432       -  0.8125       -"));
  CHECK(lines_of(table.lines(epoch(3), line(100))).size() == 1);
}

TEST_CASE("an epoch that lasted hours, and one that nobody timed, keep their columns") {
  EpochTable table;
  EpochFacts facts = epoch(0);
  facts.seconds = 2 * 3600.0 + 14 * 60 + 5;
  CHECK(contains(table.lines(facts, line(100)), "  2:14:05  "));
  facts.seconds = 31.2 * 3600;
  CHECK(contains(table.lines(facts, line(100)), "     31 h  "));
  EpochLine nothing = line(100);
  nothing.budget = {};
  facts.train = {{"loss", EpochFacts::none}};
  facts.validation = {};
  CHECK(contains(table.lines(facts, nothing), "   nan       -  "));
}

TEST_CASE("an epoch is a row with a column for each figure") {
  const app::MetricRow row = app::epoch_row(epoch(0));
  std::vector<std::string> names;
  for (const auto& [name, value] : row)
    names.push_back(name);
  CHECK(names == std::vector<std::string>{"epoch", "step", "train_loss", "train_accuracy",
                                          "val_loss", "val_accuracy", "improved", "learning_rate",
                                          "steps", "wall_s", "data_wait_s", "copy_s", "compute_s",
                                          "other_s", "validation_s", "epoch_s"});
}
