#include <headrace/monitor/stage_load.h>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::monitor;

namespace {

LoaderLoad four_threads() {
  return {
      .elapsed_s = 10.0,
      .threads = 4,
      .io_threads = 2,
      .stages = {{.name = "read", .role = StageRole::io, .busy_s = 1.0, .items = 1000},
                 {.name = "decode", .role = StageRole::worker, .busy_s = 6.0, .items = 1000},
                 {.name = "augment", .role = StageRole::worker, .busy_s = 2.0, .items = 1000},
                 {.name = "transfer", .role = StageRole::transfer, .busy_s = 0.5, .items = 1000}},
      .delivered = 1000,
      .consumer_wait_s = 5.0};
}

}  // namespace

TEST_CASE("worker stages share the workers and the larger share comes first") {
  const auto stages = stage_capacities(four_threads());
  REQUIRE(stages.size() == 4);
  CHECK(stages[0].name == "decode");
  CHECK(stages[0].capacity == doctest::Approx(4 / 0.008));
  CHECK(stages[0].pool_share == doctest::Approx(0.75));
  CHECK(stages[1].name == "augment");
  CHECK(stages[1].capacity == doctest::Approx(stages[0].capacity));
}

TEST_CASE("reads are held by the I/O threads and transfer by nothing beside itself") {
  const auto stages = stage_capacities(four_threads());
  CHECK(stages[2].name == "read");
  CHECK(stages[2].capacity == doctest::Approx(2 / 0.001));
  CHECK(stages[3].name == "transfer");
  CHECK(stages[3].capacity == doctest::Approx(1 / 0.0005));
}

TEST_CASE("a step's own limit is its capacity when it is tighter than the pool") {
  LoaderLoad load = four_threads();
  load.stages[2].concurrency_limit =
      1;  // 2 ms a sample, one at a time: 500 is just the pool's own capacity
  CHECK_FALSE(stage_capacities(load)[0].own_limit);
  load.stages[2].busy_s = 2.5;
  const auto stages = stage_capacities(load);
  CHECK(stages[0].name == "augment");
  CHECK(stages[0].own_limit);
  CHECK(stages[0].capacity == doctest::Approx(400.0));
}

TEST_CASE("demand is what the consumer takes while it does not wait") {
  CHECK(consumer_demand(four_threads()) == doctest::Approx(200.0));
  CHECK(stage_capacities(four_threads())[0].headroom == doctest::Approx(2.5));
}

TEST_CASE("a consumer that does nothing demands nothing") {
  LoaderLoad load = four_threads();
  load.consumer_wait_s = 9.95;
  CHECK(consumer_demand(load) == 0.0);
  CHECK(stage_capacities(load)[0].headroom == doctest::Approx(500.0 / 100.0));
}

TEST_CASE("a stage that did nothing is left out") {
  LoaderLoad load = four_threads();
  load.stages[0].items = 0;
  CHECK(stage_capacities(load).size() == 3);
}

TEST_CASE("a loader's statistics become a load in samples, transfers too") {
  LoaderStats stats;
  stats.batches = 10;
  stats.samples = 320;
  stats.threads = 8;
  stats.io_threads = 4;
  stats.slabs = 5;
  stats.full_share = 0.25;
  stats.wait.total_s = 1.0;
  stats.step.total_s = 3.0;
  StageStats decode;
  decode.name = "jpeg";
  decode.role = "decode";
  decode.place = StageStats::Place::worker;
  decode.limit = 3;
  decode.items = 320;
  decode.busy_s = 6.4;
  StageStats transfer;
  transfer.name = transfer.role = "transfer";
  transfer.place = StageStats::Place::transfer;
  transfer.items = 10;
  transfer.busy_s = 0.32;
  stats.stages = {decode, transfer};

  const LoaderLoad load = loader_load(stats);
  CHECK(load.elapsed_s == 4.0);
  CHECK(load.consumer_wait_s == 1.0);
  CHECK(load.threads == 8);
  CHECK(load.slabs == 5);
  CHECK(load.delivered == 320);
  CHECK(load.ready_full_share == 0.25);
  REQUIRE(load.stages.size() == 2);
  CHECK(load.stages[0].stage == "decode");
  CHECK(load.stages[0].concurrency_limit == 3);
  CHECK(load.stages[1].items == 320);
  CHECK(stage_capacities(load)[0].capacity == doctest::Approx(3 / 0.02));
}
