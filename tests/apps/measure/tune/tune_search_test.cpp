// The search alone, on a machine that is a formula.
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/tune/tune.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/measure/formula_machine.h>
#include <headrace/tests/apps/started_program.h>

#include <algorithm>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

namespace app = headrace::app;
using headrace::test::contains;
using headrace::test::Machine;
using headrace::test::whole;

app::Tuned tuned(Machine& machine, app::TuneBudget budget = {.cores = 8},
                 const std::string& yaml = headrace::test::job) {
  return app::tune_configuration(
      whole(yaml),
      {.jobs = app::jobs(),
       .budget = budget,
       .seconds = 60.0,
       .measure = [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
         return machine.measure(configuration, input);
       }});
}

const app::KeyChange* change_of(const app::Tuned& found, const std::string& key) {
  const auto at = std::ranges::find(found.changes, key, &app::KeyChange::key);
  return at == found.changes.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("one thread is raised until the step alone sets the pace, as predicted") {
  Machine machine;
  const app::Tuned found = tuned(machine);
  CHECK(found.before == doctest::Approx(500.0));
  CHECK(found.after == doctest::Approx(1000.0));
  CHECK(found.ended == "it has the pace of the step itself");
  REQUIRE(change_of(found, "threads.loader") != nullptr);
  CHECK(change_of(found, "threads.loader")->old_value == "1");
  CHECK(found.configuration.number("threads.loader") >= 2);
  REQUIRE(found.steps.size() == 1);
  CHECK(found.steps[0].candidate.predicted == doctest::Approx(found.steps[0].got).epsilon(0.2));
}

TEST_CASE("what is learnt is the same in every configuration that was tried") {
  Machine machine{.read_s = 0.01, .decode_s = 0.004, .one_ahead = 0.5};
  const app::Tuned found = tuned(machine);
  CHECK(found.steps.size() > 1);
  const auto before = whole().identity;
  for (const std::string& yaml : machine.configurations)
    CHECK(whole(yaml).identity == before);
  CHECK(found.configuration.identity == before);
}

TEST_CASE("threads that read are raised where reads wait") {
  Machine machine{.read_s = 0.02, .decode_s = 0.0005};
  const app::Tuned found = tuned(machine);
  CHECK(change_of(found, "threads.io") != nullptr);
  CHECK(found.after == doctest::Approx(1000.0));
}

TEST_CASE("a reserve that is too small is raised where bursts cost") {
  Machine machine{.decode_s = 0.001, .one_ahead = 0.5};
  const app::Tuned found = tuned(machine);
  CHECK(found.after == doctest::Approx(1000.0));
  CHECK(found.configuration.identity == whole().identity);
}

TEST_CASE("a job with nothing to gain is left as it is") {
  Machine machine{.decode_s = 0.0001};
  const app::Tuned found = tuned(machine);
  CHECK(found.changes.empty());
  CHECK(found.steps.empty());
  CHECK(found.configuration.yaml() == whole().yaml());
  CHECK(contains(app::tuned_text(found), "changed      nothing"));
}

TEST_CASE("what would take more memory than the budget is not kept") {
  Machine machine;
  machine.held_by_thread = 1 << 30;
  const app::Tuned found = tuned(machine, {.cores = 8, .memory = 3ULL << 29});
  CHECK(found.configuration.number("threads.loader") == 1);
  CHECK(std::ranges::any_of(found.steps, [](const app::TunedStep& step) {
    return step.outcome == app::TuneOutcome::too_large;
  }));
  CHECK_THROWS_AS(tuned(machine, {.cores = 8, .memory = 1 << 20}), headrace::ResourceError);
}

TEST_CASE("workers that sleep are at most four a core of the budget") {
  Machine machine{.decode_s = 0.1};
  const app::Tuned found = tuned(machine, {.cores = 2});
  for (const app::TunedStep& step : found.steps)
    if (step.candidate.change.key == "threads.loader")
      CHECK(std::stoi(step.candidate.change.new_value) <= 8);
  CHECK(found.configuration.number("threads.loader") == 8);
}

TEST_CASE("the batch stays unless it may change") {
  Machine machine{.decode_s = 0.1};
  const auto tries_batch = [&](bool allowed) {
    const app::Tuned found = tuned(machine, {.cores = 2, .batch = allowed});
    return std::ranges::any_of(found.steps, [](const app::TunedStep& step) {
      return step.candidate.change.key == "training.batch";
    });
  };
  CHECK_FALSE(tries_batch(false));
  CHECK(tries_batch(true));
}

TEST_CASE("each change is measured beside the configuration without it") {
  Machine machine{.decode_s = 0.1};
  const app::Tuned found = tuned(machine, {.cores = 2});
  // One trial of each ceiling, the first of the first change is compared with its last, then pairs.
  std::size_t expected = 3;
  for (const app::TunedStep& step : found.steps)
    expected += static_cast<std::size_t>(2 * step.trials);
  CHECK(machine.asked.size() == expected - 1);
}

TEST_CASE("cold data are tuned for where they hold the training back") {
  Machine machine{.decode_s = 0.001};
  Machine cold{.read_s = 0.02, .decode_s = 0.001};
  const app::Tuned found = app::tune_configuration(
      whole(), {.jobs = app::jobs(),
                .budget = {.cores = 8},
                .measure = [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
                  app::PaceResult pace = input == app::PaceInput::storage
                                             ? cold.measure(configuration, input)
                                             : machine.measure(configuration, input);
                  pace.cold = input == app::PaceInput::storage;
                  return pace;
                }});
  CHECK(found.input == app::PaceInput::storage);
  CHECK(change_of(found, "threads.io") != nullptr);
}

TEST_CASE("a change whose trial fails is said and passed over") {
  Machine machine;
  const app::Tuned found = app::tune_configuration(
      whole(), {.jobs = app::jobs(),
                .budget = {.cores = 8},
                .measure = [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
                  if (configuration.number("threads.loader") == 1)
                    return machine.measure(configuration, input);
                  return app::PaceResult{.failed = "the trial was ended by signal 11"};
                }});
  CHECK(found.configuration.number("threads.loader") == 1);
  REQUIRE_FALSE(found.steps.empty());
  CHECK(found.steps[0].outcome == app::TuneOutcome::failed);
  CHECK(contains(app::tuned_text(found), "ended by signal 11"));
}

TEST_CASE("a configuration without a pace ends with the code of its trial") {
  const auto fails = [](const app::WholeConfiguration&, app::PaceInput) {
    return app::PaceResult{.failed = "the trial ended with 3", .ended_with = app::ExitCode::data};
  };
  try {
    app::tune_configuration(whole(), {.jobs = app::jobs(), .measure = fails});
    FAIL("nothing was thrown");
  } catch (const app::Failure& failure) {
    CHECK(failure.code() == app::ExitCode::data);
    CHECK(contains(failure.what(), "the trial ended with 3"));
  }
}

TEST_CASE("the time that a search may take is kept") {
  Machine machine{.decode_s = 0.1};
  const app::Tuned found = app::tune_configuration(
      whole(), {.jobs = app::jobs(),
                .budget = {.cores = 8},
                .seconds = 0.0,
                .measure = [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
                  return machine.measure(configuration, input);
                }});
  CHECK(found.ended == "the time is up");
  CHECK(found.steps.empty());
}

TEST_CASE("a planted consumer that is slowed at hand is faster without what slows it") {
  // It takes 2 ms a sample at hand, and 1 ms alone; four workers could make 1000 samples/s.
  const auto promised = [](const char* delay) {
    Machine machine{.decode_s = 0.004};
    const std::string loader =
        "kind: loader\nbatch: 16\ndata: {source: synthetic, prefetch: 4}\nthreads: {loader: 1}\n";
    const app::Tuned found = app::tune_configuration(
        whole(loader + delay),
        {.jobs = app::jobs(),
         .budget = {.cores = 8},
         .measure = [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
           app::PaceResult pace = machine.measure(configuration, input);
           pace.stage.clear();
           pace.process_cores = 0.01;
           pace.stats.step.total_s *= 2.0;
           return pace;
         }});
    REQUIRE_FALSE(found.steps.empty());
    return found.steps[0].candidate.predicted;
  };
  CHECK(promised("delay: {consumer: 16ms}\n") == doctest::Approx(707.0).epsilon(0.01));
  CHECK(promised("") == doctest::Approx(500.0).epsilon(0.01));
}

TEST_CASE("a search that is stopped keeps what it had kept, and nothing of what it was trying") {
  Machine machine{.read_s = 0.02, .decode_s = 0.004};
  std::stop_source stop;
  std::vector<std::string> told;
  app::TuneSearch search{
      .jobs = app::jobs(),
      .budget = {.cores = 8},
      .measure =
          [&](const app::WholeConfiguration& configuration, app::PaceInput input) {
            if (!stop.stop_requested() && told.empty())
              return machine.measure(configuration, input);
            stop.request_stop();  // in the first trial behind a change that was kept
            return app::PaceResult{.failed = "the trial was ended by signal 9"};
          },
      .tell = [&](const std::string& line) { told.push_back(line); },
      .stop = stop.get_token()};
  const app::Tuned found = app::tune_configuration(whole(), search);
  CHECK(found.ended == "it was stopped");
  REQUIRE(found.steps.size() == 1);
  CHECK(found.steps[0].outcome == app::TuneOutcome::kept);
  CHECK(found.changes.size() == 1);
  CHECK(found.configuration.value(found.changes[0].key) == found.changes[0].new_value);
  CHECK(found.after > found.before);
}

TEST_CASE("a search that is stopped before it has a pace gives what it was given") {
  std::stop_source stop;
  const app::Tuned found = app::tune_configuration(
      whole(), {.jobs = app::jobs(),
                .measure =
                    [&](const app::WholeConfiguration&, app::PaceInput) {
                      stop.request_stop();
                      return app::PaceResult{.failed = "the trial was ended by signal 9"};
                    },
                .stop = stop.get_token()});
  CHECK(found.ended == "it was stopped");
  CHECK(found.configuration.yaml() == whole().yaml());
  const std::string text = app::tuned_text(found);
  CHECK_FALSE(contains(text, "samples/s"));
  CHECK(contains(text, "changed      nothing"));
}

TEST_CASE("predicted stands beside got in text and JSON") {
  Machine machine;
  const app::Tuned found = tuned(machine);
  const std::string text = app::tuned_text(found);
  for (const char* words : {"predicted", "got", "error", "threads.loader 1 -> ", "kept",
                            "500 -> 1.00 k samples/s (2.00 times), input from memory"})
    CHECK_MESSAGE(contains(text, words), words << "\n" << text);
  CHECK(app::width_of(app::tuned_text(found, 80)) <= 80);
  const auto json = nlohmann::json::parse(app::tuned_json(found, "job.yaml"));
  CHECK(json.at("steps").at(0).at("change").at("key") == "threads.loader");
  CHECK(json.at("before_per_s").get<double>() == doctest::Approx(500.0));
  CHECK(json.at("changes").size() == 1);
}
