#include <headrace/monitor/advice/verdict.h>

#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace::monitor;

namespace {

// 4 workers, 2 I/O threads, decode 16 ms: 250 samples/s, and a consumer that would take 500.
LoaderLoad slow_decode_load() {
  return {
      .elapsed_s = 4.0,
      .threads = 4,
      .io_threads = 2,
      .stages = {{.name = "read", .role = StageRole::io, .busy_s = 1.0, .items = 1000},
                 {.name = "decode", .role = StageRole::worker, .busy_s = 16.0, .items = 1000},
                 {.name = "transfer", .role = StageRole::transfer, .busy_s = 0.1, .items = 1000}},
      .delivered = 1000,
      .consumer_wait_s = 2.0,
      .ready_full_share = 0.0,
      .slabs = 6};
}

LoaderLoad slow_read() {
  LoaderLoad load = slow_decode_load();
  load.stages[0].busy_s = 8.0;
  load.stages[1].busy_s = 1.0;
  return load;
}

std::optional<Advice> advice_for(const LoaderLoad& load, const HostFacts& host = {}) {
  return judge(load, host).advice;
}

}  // namespace

TEST_CASE("free cores are offered to a pool of workers that is too slow") {
  const auto advice =
      advice_for(slow_decode_load(), {.usable_cores = 16, .process_cpu_share = 0.25});
  REQUIRE(advice);
  CHECK(advice->rule == "raise-threads");
  CHECK(advice->old_value == "4");
  CHECK(advice->new_value == "9");  // 4 x 500/250, and a tenth more
  CHECK(advice->effect == "250 -> 500 samples/s, data stall 50 % -> 0.0 %");
  CHECK(advice->evidence.size() >= 3);
  CHECK(advice->severity == Severity::warning);
}

TEST_CASE("no more threads than there are cores when the processor is busy") {
  const auto advice = advice_for(slow_decode_load(), {.usable_cores = 6, .process_cpu_share = 0.7});
  REQUIRE(advice);
  CHECK(advice->new_value == "5");
  CHECK(advice->effect == "250 -> 312 samples/s, data stall 50 % -> 38 %");
}

TEST_CASE("workers that sleep may outnumber the cores") {
  const auto advice = advice_for(slow_decode_load(), {.usable_cores = 4, .process_cpu_share = 0.4});
  REQUIRE(advice);
  CHECK(advice->rule == "raise-threads");
  CHECK(advice->new_value == "9");
  CHECK(advice->effect == "250 -> 500 samples/s, data stall 50 % -> 0.0 %");
}

TEST_CASE("no more workers are promised than the cores can carry, nor a rate that they cannot") {
  struct Known {
    unsigned cores;
    double share;
    std::string workers;
    std::string rate;
  };
  for (const Known& known :
       {Known{4, 0.69, "5", "250 -> 312 samples/s"}, Known{8, 0.69, "6", "250 -> 362 samples/s"},
        Known{8, 0.50, "8", "250 -> 500 samples/s"}, Known{2, 0.60, "6", "250 -> 375 samples/s"}}) {
    CAPTURE(known.share);
    const auto advice = advice_for(slow_decode_load(),
                                   {.usable_cores = known.cores, .process_cpu_share = known.share});
    REQUIRE(advice);
    CHECK(advice->rule == "raise-threads");
    CHECK(advice->new_value == known.workers);
    CHECK(advice->effect.starts_with(known.rate));
  }
  LoaderLoad load = slow_decode_load();
  load.threads = 8;
  load.stages[1].concurrency_limit = 4;
  const auto limit = advice_for(load, {.usable_cores = 16, .process_cpu_share = 0.8});
  REQUIRE(limit);
  CHECK(limit->rule == "raise-limit");
  CHECK(limit->new_value == "7");
  CHECK(limit->effect == "250 -> 312 samples/s, data stall 50 % -> 38 %");
  CHECK(advice_for(load, {.usable_cores = 4, .process_cpu_share = 0.99})->rule == "cheaper-step");
  CHECK_FALSE(advice_for(slow_read(), {.usable_cores = 4, .process_cpu_share = 0.99}));
}

TEST_CASE("cores that others have are promised to nobody") {
  const auto advice = advice_for(
      slow_decode_load(), {.usable_cores = 16, .process_cpu_share = 0.25, .idle_cpu_share = 0.125});
  REQUIRE(advice);
  CHECK(advice->new_value == "6");
  CHECK(advice->effect == "250 -> 375 samples/s, data stall 50 % -> 25 %");
  CHECK(advice_for(slow_decode_load(),
                   {.usable_cores = 4, .process_cpu_share = 0.25, .idle_cpu_share = 0.0})
            ->rule == "cheaper-step");
}

TEST_CASE("when every core is busy the advice is cheaper work, not threads") {
  const auto advice =
      advice_for(slow_decode_load(), {.usable_cores = 4, .process_cpu_share = 0.97});
  REQUIRE(advice);
  CHECK(advice->rule == "cheaper-step");
  CHECK(advice->old_value == "16.0 ms");
  CHECK(advice->action.find("more threads will not help") != std::string::npos);
}

TEST_CASE("a step's own limit is raised before anything else") {
  LoaderLoad load = slow_decode_load();
  load.stages[1].busy_s = 4.0;
  load.stages[1].concurrency_limit = 1;
  const auto advice = advice_for(load, {.usable_cores = 16});
  REQUIRE(advice);
  CHECK(advice->rule == "raise-limit");
  CHECK(advice->setting == "limit of decode");
  CHECK(advice->old_value == "1");
  CHECK(advice->new_value == "3");
}

TEST_CASE(
    "slow reads ask for more I/O threads, or for faster storage where storage is under pressure") {
  const auto threads = advice_for(slow_read(), {.usable_cores = 16, .io_pressure_share = 0.19});
  REQUIRE(threads);
  CHECK(threads->rule == "raise-io-threads");
  CHECK(threads->old_value == "2");
  CHECK(threads->new_value == "5");
  const auto storage = advice_for(slow_read(), {.usable_cores = 16, .io_pressure_share = 0.20});
  REQUIRE(storage);
  CHECK(storage->rule == "faster-storage");
}

TEST_CASE("a slow transfer asks for fewer bytes") {
  LoaderLoad load = slow_decode_load();
  load.stages[1].busy_s = 1.0;
  load.stages[2].busy_s = 4.0;
  const auto advice = advice_for(load, {.usable_cores = 16});
  REQUIRE(advice);
  CHECK(advice->rule == "smaller-transfer");
  CHECK(advice->old_value == "4.00 ms");
}

TEST_CASE("waits of a loader that has the pace ask for more batches ahead") {
  LoaderLoad load = slow_decode_load();
  load.stages[1].busy_s = 4.0;  // 1000 samples/s for a consumer of 500
  const auto advice = advice_for(load, {.usable_cores = 16});
  REQUIRE(advice);
  CHECK(advice->rule == "raise-prefetch");
  CHECK(advice->new_value == "12 slabs");
}

TEST_CASE("no advice without need and none without evidence") {
  LoaderLoad content = slow_decode_load();
  content.consumer_wait_s = 0.1;
  CHECK_FALSE(advice_for(content, {.usable_cores = 16}));
  LoaderLoad unknown = slow_decode_load();
  unknown.stages.clear();
  CHECK_FALSE(advice_for(unknown, {.usable_cores = 16}));
}

TEST_CASE(
    "an advice line has verdict, evidence, action with old and new value, effect and check, and "
    "leaves the severity to whoever writes it") {
  const auto advice = advice_for(slow_decode_load(), {.usable_cores = 16});
  REQUIRE(advice);
  CHECK(advice->line() ==
        "decode holds the loader back · data stall 50 %, decode 16.0 ms a sample, 250 "
        "samples/s possible, "
        "500 asked for · use the cores that are free (threads.loader 4 -> 9) · 250 -> 500 "
        "samples/s, data stall 50 % "
        "-> 0.0 % · check: data stall and samples/s of the next epoch");
}

TEST_CASE("an advice's JSON carries its numbers") {
  const auto json =
      nlohmann::json::parse(advice_for(slow_decode_load(), {.usable_cores = 16})->json());
  CHECK(json["rule"] == "raise-threads");
  CHECK(json["evidence"]["data_stall_fraction"] == doctest::Approx(0.5));
  CHECK(json["evidence"]["capacity_per_s"] == doctest::Approx(250.0));
  CHECK(json["old"] == "4");
}

TEST_CASE("the same advice is said again only when it gets clearly worse") {
  AdviceMemory memory;
  Advice advice{.rule = "raise-threads",
                .severity = Severity::notice,
                .setting = "threads.loader",
                .weight = 0.10};
  CHECK(memory.should_say(advice));
  CHECK_FALSE(memory.should_say(advice));
  advice.weight = 0.125;
  CHECK_FALSE(memory.should_say(advice));
  advice.weight = 0.13;
  CHECK(memory.should_say(advice));
  CHECK_FALSE(memory.should_say(advice));
  advice.severity = Severity::warning;
  CHECK(memory.should_say(advice));
  advice.setting = "limit of decode";
  CHECK(memory.should_say(advice));
  advice.setting = "renice -n 19 -p 4711";
  CHECK(memory.should_say(advice));
  advice.setting = "renice -n 19 -p 4712";  // another process each epoch is the same advice
  CHECK_FALSE(memory.should_say(advice));
}

TEST_CASE("where the cores are not known, nobody says that more threads will not help") {
  CHECK_FALSE(advice_for(slow_decode_load()));
}

TEST_CASE("the same advice on another process is no other advice") {
  AdviceMemory memory;
  Advice advice{.rule = "cpu-shared", .setting = "renice -n 19 -p 4711", .weight = 0.1};
  CHECK(memory.should_say(advice));
  advice.setting = "renice -n 19 -p 4980";
  CHECK_FALSE(memory.should_say(advice));
  advice.weight = 0.2;
  CHECK(memory.should_say(advice));
}
