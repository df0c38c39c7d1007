#include <headrace/monitor/step_budget.h>
#include <headrace/monitor/step_clock.h>

#include <chrono>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;

namespace {

constexpr StepBudgetOptions no_warmup{.warmup_steps = 0, .warmup_s = 0.0};

StepBudget steps_of(const StepTimes& step, std::size_t count,
                    StepBudgetOptions options = no_warmup) {
  StepBudgetMeter meter(options);
  for (std::size_t i = 0; i < count; ++i)
    meter.add(step);
  return meter.summary();
}

// The numbers of "step 98 ms = data 1 + copy 0 + gpu 95 + other 2": total, then parts.
std::vector<double> numbers_in(const std::string& sentence) {
  std::vector<double> numbers;
  const std::regex number("[0-9]+(\\.[0-9]+)?");
  for (std::sregex_iterator it(sentence.begin(), sentence.end(), number), end; it != end; ++it) {
    numbers.push_back(std::stod(it->str()));
  }
  return numbers;
}

}  // namespace

TEST_CASE("a step's sentence names its parts and they add up") {
  const StepBudget budget =
      steps_of({.wall_s = 0.098, .data_wait_s = 0.001, .copy_s = 0.0, .compute_s = 0.095}, 10,
               {.warmup_steps = 0, .warmup_s = 0.0, .on_gpu = true});
  CHECK(budget.sentence() == "step 98 ms = data 1 + copy 0 + gpu 95 + other 2");
}

TEST_CASE("without a GPU the sentence says compute") {
  CHECK(steps_of({.wall_s = 0.050, .data_wait_s = 0.010, .compute_s = 0.040}, 10).sentence() ==
        "step 50 ms = data 10 + copy 0 + compute 40 + other 0");
}

TEST_CASE("rounded parts add up to the rounded step at every scale") {
  for (const double wall : {3.3e-6, 777e-6, 1.23e-3, 9.96e-3, 33.4e-3, 0.999, 1.0, 12.34}) {
    const StepBudget budget = steps_of(
        {.wall_s = wall, .data_wait_s = wall / 3, .copy_s = wall / 7, .compute_s = wall / 2.5}, 7);
    const auto numbers = numbers_in(budget.sentence());
    REQUIRE(numbers.size() == 5);
    CHECK(numbers[0] == doctest::Approx(numbers[1] + numbers[2] + numbers[3] + numbers[4]));
  }
}

TEST_CASE("other is what the measured parts leave of the wall time") {
  const StepBudget budget =
      steps_of({.wall_s = 0.1, .data_wait_s = 0.02, .copy_s = 0.01, .compute_s = 0.05}, 100);
  CHECK(budget.other_s == doctest::Approx(2.0));
  CHECK(budget.sum_error() < 1e-9);
  CHECK(budget.data_stall_fraction() == doctest::Approx(0.2));
}

TEST_CASE("steps add up part by part") {
  StepTimes sum{.wall_s = 1.0, .data_wait_s = 0.125};
  sum += {.wall_s = 2.0, .data_wait_s = 0.125, .copy_s = 0.25, .compute_s = 1.0};
  CHECK(sum.wall_s == 3.0);
  CHECK(sum.data_wait_s == 0.25);
  CHECK(sum.copy_s == 0.25);
  CHECK(sum.compute_s == 1.0);
  CHECK(sum.other_s() == 1.5);
}

TEST_CASE("parts longer than the step show as a sum that is off") {
  const StepBudget budget = steps_of({.wall_s = 0.1, .data_wait_s = 0.06, .compute_s = 0.06}, 100);
  CHECK(budget.sum_error() == doctest::Approx(0.2));
}

TEST_CASE("a real loop's parts sum to its wall time") {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  StepBudgetMeter meter(no_warmup);
  const auto seconds_since = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  const auto slept = [&](std::chrono::milliseconds time) {
    const auto since = Clock::now();
    std::this_thread::sleep_for(time);
    return seconds_since(since);
  };
  double waited = 0.0;
  double computed = 0.0;
  const auto before = Clock::now();
  StepClock clock;
  const auto start = Clock::now();
  double least = 0.0;
  for (int i = 0; i < 20; ++i) {
    clock.enter(StepPart::data_wait);
    waited += slept(2ms);
    clock.enter(StepPart::compute);
    computed += slept(5ms);
    clock.enter(StepPart::other);
    std::this_thread::sleep_for(1ms);
    least = seconds_since(start);
    meter.add(clock.end_step());
  }
  const double wall = seconds_since(before);
  const StepBudget budget = meter.summary();
  const double sum = budget.data_wait_s + budget.copy_s + budget.compute_s + budget.other_s;
  constexpr double rounding = 1e-6;
  CHECK(sum >= least - rounding);
  CHECK(sum <= wall + rounding);
  CHECK(waited >= 20 * 0.002);
  CHECK(computed >= 20 * 0.005);
  CHECK(budget.data_wait_s >= waited);
  CHECK(budget.compute_s >= computed);
  CHECK(budget.data_wait_s + budget.compute_s <= wall - 20 * 0.001);
}

TEST_CASE(
    "the warm-up leaves out the first twenty steps when they take longer than thirty seconds") {
  StepBudgetMeter meter;
  for (int i = 0; i < 20; ++i)
    meter.add({.wall_s = 2.0, .data_wait_s = 2.0});
  for (int i = 0; i < 100; ++i)
    meter.add({.wall_s = 1.0, .compute_s = 1.0});
  const StepBudget budget = meter.summary();
  CHECK(budget.skipped_steps == 20);
  CHECK(budget.steps == 100);
  CHECK(budget.data_wait_s == 0.0);
  CHECK_FALSE(budget.warmup_cut_short);
  CHECK(budget.window() == "100 steps after 20 of warm-up");
}

TEST_CASE("the warm-up leaves out thirty seconds when they hold more than twenty steps") {
  StepBudgetMeter meter;
  for (int i = 0; i < 1000; ++i)
    meter.add({.wall_s = 0.1, .data_wait_s = i < 300 ? 0.1 : 0.0});
  const StepBudget budget = meter.summary();
  CHECK(budget.skipped_steps >= 300);
  CHECK(budget.skipped_steps <= 301);
  CHECK(budget.data_wait_s == 0.0);
}

TEST_CASE("a short run leaves out its first half and says so") {
  StepBudgetMeter meter;
  for (int i = 0; i < 10; ++i)
    meter.add({.wall_s = 0.1, .data_wait_s = i < 5 ? 0.1 : 0.0});
  const StepBudget budget = meter.summary();
  CHECK(budget.steps == 5);
  CHECK(budget.skipped_steps == 5);
  CHECK(budget.warmup_cut_short);
  CHECK(budget.data_wait_s == 0.0);
  CHECK(budget.window() == "5 steps after 5 of warm-up (short run: the first half)");
}

TEST_CASE("the second epoch has no warm-up left once the first has passed it") {
  StepBudgetMeter meter({.warmup_steps = 4, .warmup_s = 0.0});
  for (int i = 0; i < 10; ++i)
    meter.add({.wall_s = 0.1});
  meter.next_epoch();
  for (int i = 0; i < 10; ++i)
    meter.add({.wall_s = 0.1});
  CHECK(meter.summary().steps == 10);
  CHECK(meter.summary().window() == "10 steps");
}

TEST_CASE("a warm-up longer than the first epoch goes on in the second") {
  StepBudgetMeter meter({.warmup_steps = 14, .warmup_s = 0.0});
  for (int i = 0; i < 10; ++i)
    meter.add({.wall_s = 0.1});
  meter.next_epoch();
  for (int i = 0; i < 10; ++i)
    meter.add({.wall_s = 0.1});
  CHECK(meter.summary().skipped_steps == 4);
  CHECK(meter.summary().steps == 6);
}

TEST_CASE("quantiles of the wait are right to five per cent and the largest is exact") {
  StepBudgetMeter meter(no_warmup);
  for (int i = 1; i <= 1000; ++i)
    meter.add({.wall_s = 1.0, .data_wait_s = i * 1e-4});
  const StepBudget budget = meter.summary();
  CHECK(budget.wait_p50_s == doctest::Approx(0.0500).epsilon(0.05));
  CHECK(budget.wait_p99_s == doctest::Approx(0.0990).epsilon(0.05));
  CHECK(budget.wait_max_s == 0.1);
}

TEST_CASE("only waits above fifty microseconds count as long") {
  StepBudgetMeter meter(no_warmup);
  for (int i = 0; i < 75; ++i)
    meter.add({.wall_s = 0.01, .data_wait_s = 50e-6});
  for (int i = 0; i < 25; ++i)
    meter.add({.wall_s = 0.01, .data_wait_s = 51e-6});
  CHECK(meter.summary().long_wait_share == doctest::Approx(0.25));
}

TEST_CASE("an empty meter gives an empty budget, not a division by zero") {
  const StepBudget budget = StepBudgetMeter().summary();
  CHECK(budget.steps == 0);
  CHECK(budget.data_stall_fraction() == 0.0);
  CHECK(budget.sentence() == "no step measured yet");
}
