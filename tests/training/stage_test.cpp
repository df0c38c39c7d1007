#include <headrace/training/stage/stage.h>
#include <headrace/training/stage/stage_checks.h>

#include "trainer_run.h"

using namespace headrace::training;
using doctest::Approx;

TEST_CASE("patterns fit names that have their parts in order") {
  CHECK(fits_pattern("layer1.conv.weight", "conv"));
  CHECK(fits_pattern("layer1.conv.weight", "layer*weight"));
  CHECK(fits_pattern("layer1.conv.weight", "*"));
  CHECK_FALSE(fits_pattern("layer1.conv.weight", "weight*layer"));
  CHECK_FALSE(fits_pattern("layer1.conv.weight", "norm"));
}

TEST_CASE("groups take parameters by name, the first rule that fits, and leave frozen ones out") {
  const auto network = make_network<StatefulModule>(1);
  const Stage stage{.optimizer = {.weight_decay = .1},
                    .groups = {{.pattern = "linear", .rate_factor = 10.0, .weight_decay = 0.0},
                               {.pattern = "weight", .rate_factor = .5}},
                    .frozen = {"conv.bias"}};
  const std::vector<ParameterGroup> groups = parameter_groups(stage, network->parameters());
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].parameters[0].name == "linear.weight");
  CHECK(groups[0].parameters[1].name == "linear.bias");
  CHECK(groups[0].rate_factor == 10.0);
  CHECK(groups[0].weight_decay == 0.0);
  CHECK(groups[1].parameters[0].name == "conv.weight");
  CHECK(groups[1].rate_factor == .5);
  CHECK(groups[1].weight_decay == .1);
  CHECK(groups[2].parameters[0].name == "norm.weight");
  CHECK(groups[2].weight_decay == 0.0);
  CHECK(groups[3].parameters[0].name == "norm.bias");
  for (const auto& item : network->parameters())
    CHECK(item.tensor.requires_grad() == (item.name != "conv.bias"));
}

TEST_CASE("a decay of a group's own holds for its vectors, too") {
  const auto network = make_network<StatefulModule>(1);
  const std::vector<ParameterGroup> groups = parameter_groups(
      {.groups = {{.pattern = "linear.bias", .weight_decay = .3}}}, network->parameters());
  CHECK(groups[0].parameters[0].name == "linear.bias");
  CHECK(groups[0].weight_decay == .3);
}

TEST_CASE("patterns that fit nothing, and stages that train nothing, are refused") {
  const auto network = make_network<StatefulModule>(1);
  CHECK_THROWS_AS(parameter_groups({.frozen = {"cnov"}}, network->parameters()),
                  headrace::ConfigError);
  CHECK_THROWS_AS(parameter_groups({.groups = {{.pattern = "head"}}}, network->parameters()),
                  headrace::ConfigError);
  CHECK_THROWS_AS(parameter_groups({.frozen = {"*"}}, network->parameters()),
                  headrace::ConfigError);
  CHECK_THROWS_WITH_AS(parameter_groups({.groups = {{.pattern = "*"}, {.pattern = "linear"}}},
                                        network->parameters()),
                       doctest::Contains("no group before it fits"), headrace::ConfigError);
}

TEST_CASE("the lowest rate of a schedule raises none that is below it") {
  const SchedulePlace end{.update = 39, .steps_per_epoch = 10, .epochs = 4, .reductions = 3};
  CHECK(rate_at(CosineRate{.lowest = 1e-5}, 0.0, end) == 0.0);
  CHECK(rate_at(CosineRate{.lowest = 1e-5}, 1e-6, end) == Approx(1e-6));
  CHECK(rate_at(PlateauOptions{.lowest = 1e-5}, 1e-6, end) == Approx(1e-6));
  CHECK(rate_at(PlateauOptions{.lowest = 1e-5}, 2e-5, end) == Approx(1e-5));
}

TEST_CASE("a schedule that leads nowhere is refused before a stage is trained") {
  const auto refused = [](const Schedule& schedule) {
    CHECK_THROWS_AS(check(Stage{.epochs = 3, .schedule = schedule}), headrace::ConfigError);
  };
  refused(CosineRate{.warmup_epochs = 5});
  refused(OneCycleRate{.pct = 1.0});
  refused(OneCycleRate{.div = 0.5});
  refused(PolynomialRate{.power = 0.0});
}

TEST_CASE("a stage's schedules go over its steps") {
  const auto at = [](const Schedule& schedule, std::int64_t update, double rate = 1e-3) {
    return rate_at(schedule, rate, {.update = update, .steps_per_epoch = 10, .epochs = 4});
  };
  const CosineRate cosine{.warmup_epochs = 1, .lowest = 1e-5};
  CHECK(at(cosine, 0) == Approx(1e-4));
  CHECK(at(cosine, 10) == Approx(1e-3));
  CHECK(at(cosine, 40) == Approx(1e-5));
  CHECK(at(OneCycleRate{}, 0, 1e-2) == Approx(1e-2 / 25));
  CHECK(at(OneCycleRate{}, 39, 1e-2) == Approx(1e-2 / 25 / 1e4));
  CHECK(at(ConstantRate{}, 17) == 1e-3);
  CHECK(at(StepRate{.every = 2}, 19) == 1e-3);
  CHECK(at(StepRate{.every = 2}, 20) == Approx(1e-4));
  const StepRate twice{.at = {1, 3}, .factor = 0.5};
  CHECK(at(twice, 9) == 1e-3);
  CHECK(at(twice, 10) == Approx(5e-4));
  CHECK(at(twice, 30) == Approx(25e-5));
  CHECK_THROWS_AS(at(CosineRate{.warmup_epochs = 5}, 0), headrace::ConfigError);
}

TEST_CASE("a plateau that goes the wrong way is refused before anything is trained") {
  const auto network = make_network<StatefulModule>(1);
  const auto check_plateau = [&](const PlateauOptions& plateau, const Selection& selected_by) {
    headrace::test::FunctionCourse course({.loss = loss_of_rows, .selected_by = selected_by});
    check_stages(course, {Stage{.schedule = plateau}}, *network);
  };
  const Selection by_error{.figure = "error", .goal = Goal::minimum};
  CHECK_NOTHROW(check_plateau({}, {}));
  CHECK_NOTHROW(check_plateau({.figure = "loss_dice"}, {}));
  CHECK_NOTHROW(check_plateau({.figure = "f1", .goal = Goal::maximum}, {}));
  CHECK_NOTHROW(check_plateau({.figure = "error"}, by_error));
  CHECK_THROWS_WITH_AS(check_plateau({.figure = "f1"}, {}),
                       doctest::Contains("[stage train] schedule: f1 gets better upwards"),
                       headrace::ConfigError);
  CHECK_THROWS_AS(check_plateau({.goal = Goal::maximum}, {}), headrace::ConfigError);
  CHECK_THROWS_AS(check_plateau({.figure = "loss_dice", .goal = Goal::maximum}, {}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(check_plateau({.figure = "error", .goal = Goal::maximum}, by_error),
                  headrace::ConfigError);
}
