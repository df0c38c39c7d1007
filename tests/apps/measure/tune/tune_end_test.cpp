// What a search that ends early keeps, and what ends it.
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/tune/tune.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/measure/formula_machine.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::test::Machine;
using headrace::test::whole;

}  // namespace

TEST_CASE("a search whose time ends a trial keeps what it had kept, and needs a first pace") {
  Machine machine{.read_s = 0.02, .decode_s = 0.004};
  const auto tuned_until = [&](const std::function<bool()>& is_over, std::size_t& kept) {
    return app::tune_configuration(
        whole(), {.jobs = app::jobs(),
                  .budget = {.cores = 8},
                  .measure =
                      [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
                        if (!is_over()) return machine.measure(configuration, input);
                        return app::PaceResult{.failed = "the trial was ended by signal 9",
                                               .stopped = true};
                      },
                  .tell = [&](const std::string&) { ++kept; }});
  };
  std::size_t told = 0;
  const app::Tuned found = tuned_until([&] { return told > 0; }, told);
  CHECK(found.ended == "the time is up");
  REQUIRE(found.steps.size() == 1);
  CHECK(found.changes.size() == 1);
  CHECK(found.after > found.before);
  CHECK_THROWS_AS(tuned_until([] { return true; }, told), headrace::ConfigError);
}

TEST_CASE("a single pair of trials shows a large gain alone") {
  // 5 % of what was there, and the time is up behind the first pair.
  const auto outcome_of = [](double gain) {
    Machine machine{.decode_s = 0.1};
    int trials = 0;
    const app::Tuned found = app::tune_configuration(
        whole(), {.jobs = app::jobs(),
                  .budget = {.cores = 8},
                  .seconds = 1.0,
                  .measure = [&](const app::WholeConfiguration&, app::PaceInput input) {
                    // The fourth is the first of a change.
                    const bool changed = ++trials == 4;
                    app::PaceResult pace = machine.measure(whole(), input);
                    if (changed) {
                      pace.budget.wall_s /= 1.0 + gain;
                      std::this_thread::sleep_for(std::chrono::milliseconds(1100));
                    }
                    return pace;
                  }});
    REQUIRE(found.steps.size() == 1);
    CHECK(found.steps[0].trials == 1);
    return found.steps[0].outcome;
  };
  CHECK(outcome_of(0.05) == app::TuneOutcome::no_gain);
  CHECK(outcome_of(0.20) == app::TuneOutcome::kept);
}

TEST_CASE("changes whose trials fail do not end a search as those without a gain do") {
  Machine machine;
  const app::Tuned found = app::tune_configuration(
      whole(), {.jobs = app::jobs(),
                .budget = {.cores = 8},
                .measure = [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
                  if (configuration.yaml() == whole().yaml())
                    return machine.measure(configuration, input);
                  return app::PaceResult{.failed = "the trial ended with 4"};
                }});
  CHECK(found.steps.size() > 2);
  CHECK(found.ended == "nothing else is left to try");
}

TEST_CASE("changes begin with those that were given, and a key stands once") {
  Machine machine;
  const app::Tuned found = app::tune_configuration(
      whole(), {.jobs = app::jobs(),
                .budget = {.cores = 8},
                .given = {{.key = "threads.loader", .old_value = "0", .new_value = "1"},
                          {.key = "threads.torch", .old_value = "0", .new_value = "1"}},
                .measure = [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
                  return machine.measure(configuration, input);
                }});
  REQUIRE(found.changes.size() == 2);
  CHECK(found.changes[0].old_value == "0");
  CHECK(found.changes[0].new_value == found.configuration.value("threads.loader"));
}
