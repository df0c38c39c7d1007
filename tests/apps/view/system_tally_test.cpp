// Samples of the machine in a run's training parts and over all of it.
#include <headrace/apps/view/system_log.h>

#include <chrono>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::SystemTally;
using std::chrono::milliseconds;

namespace {

const SystemTally::Clock::time_point start{};

monitor::SystemSample sample(double machine_share, std::vector<monitor::GpuSample> gpus = {}) {
  return {.interval_s = 1.0, .machine_share = machine_share, .gpus = std::move(gpus)};
}

monitor::GpuSample gpu(unsigned index, double busy, bool ours) {
  monitor::GpuSample one{.index = index, .busy_share = busy};
  if (ours) one.processes.push_back({.pid = 4711, .ours = true});
  return one;
}

}  // namespace

TEST_CASE("a sample that began long before the training part is none of it") {
  SystemTally tally;
  tally.enter({.phase = "evaluate"}, start);
  tally.enter({.phase = "train", .epoch = 1}, start + milliseconds(980));
  tally.add(sample(0.9), start + milliseconds(1000));
  CHECK_FALSE(tally.window().machine);
  CHECK_FALSE(tally.window().mean);
  CHECK_FALSE(tally.totals().gpu_busy);
  tally.add(sample(0.5), start + milliseconds(2000));
  REQUIRE(tally.window().machine);
  CHECK(tally.window().machine->samples == 1);
  CHECK(tally.window().machine->machine_share == 0.5);
}

TEST_CASE("a sample that is two thirds of the training part is of it") {
  for (const auto& [entered, taken] :
       {std::pair(milliseconds(330), true), {milliseconds(340), false}}) {
    SystemTally tally;
    tally.enter({.phase = "train", .epoch = 1}, start + entered);
    tally.add(sample(0.5), start + milliseconds(1000));
    CHECK(tally.window().machine.has_value() == taken);
  }
}

TEST_CASE("the busy share of a run is that of its own GPUs, over all its training parts") {
  SystemTally tally;
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto begin = start + milliseconds(10'000 * epoch);
    tally.enter({.phase = "train", .epoch = epoch + 1}, begin);
    tally.add(sample(0.2, {gpu(0, 1.0 - 0.5 * epoch, true), gpu(1, 0.0, false)}),
              begin + milliseconds(1000));
    tally.enter({.phase = "evaluate"}, begin + milliseconds(2000));
    tally.add(sample(0.2, {gpu(0, 0.0, true), gpu(1, 0.0, false)}), begin + milliseconds(3000));
  }
  CHECK(tally.totals().gpu_busy.value() == 0.75);
}

TEST_CASE("spikes of the CPU are known from the second sample on") {
  SystemTally tally;
  CHECK_FALSE(tally.totals().cpu_spikes);
  tally.add(sample(0.95), start + milliseconds(1000));
  CHECK_FALSE(tally.totals().cpu_spikes);
  tally.add(sample(0.95), start + milliseconds(2000));
  CHECK(tally.totals().cpu_spikes.value() == 1);
}
