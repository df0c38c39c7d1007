#include <headrace/apps/measure/ceilings.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/tests/apps/started_program.h>

#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

namespace app = headrace::app;
using headrace::StageStats;
using headrace::test::contains;

struct Pace {
  app::PaceInput input = app::PaceInput::memory;
  double compute_s = 0.010;  ///< of a step of 16 samples
  double wait_s = 0.0;       ///< likewise
  std::string stage = "decode";
  StageStats::Place place = StageStats::Place::worker;
  double busy_s = 0.0001;  ///< of a sample
  int threads = 1;
  double process_share = 0.5;
};

/// A window of 100 steps.
app::PaceResult result_of(const Pace& pace) {
  constexpr double steps = 100.0;
  app::PaceResult result{.input = pace.input,
                         .stage = "train",
                         .samples = 1600,
                         .cores = 8,
                         .process_share = pace.process_share,
                         .cold = pace.input == app::PaceInput::storage};
  result.budget = {.steps = 100,
                   .wall_s = steps * (pace.compute_s + pace.wait_s),
                   .data_wait_s = steps * pace.wait_s,
                   .compute_s = steps * pace.compute_s};
  result.stats.samples = 1600;
  result.stats.batches = 100;
  result.stats.threads = pace.threads;
  result.stats.io_threads = 4;
  result.stats.slabs = 6;
  result.stats.wait.total_s = result.budget.data_wait_s;
  result.stats.step.total_s = result.budget.compute_s;
  result.stats.stages = {{.name = pace.stage,
                          .role = pace.stage,
                          .place = pace.place,
                          .items = 1600,
                          .busy_s = 1600 * pace.busy_s,
                          .service = {.count = 1600}}};
  return result;
}

app::Ceilings ceilings_of(const Pace& memory, Pace storage) {
  storage.input = app::PaceInput::storage;
  return {.device = result_of({.input = app::PaceInput::device_only}),
          .memory = result_of(memory),
          .storage = result_of(storage)};
}

app::Diagnosis diagnosis_of(const app::Ceilings& ceilings, const app::CeilingFacts& facts = {},
                            const std::vector<app::Finding>& environment = {}) {
  return app::diagnose(ceilings, facts, environment);
}

const Pace slow_decode{.wait_s = 0.010, .busy_s = 0.00125};
const Pace slow_read{
    .wait_s = 0.010, .stage = "read", .place = StageStats::Place::io, .busy_s = 0.005};

}  // namespace

TEST_CASE("three equal ceilings end in the advice to stop tuning input") {
  const app::Diagnosis found = diagnosis_of(ceilings_of({}, {}));
  CHECK(found.limit == app::Limit::device);
  CHECK(found.to_do.starts_with("stop tuning input"));
  CHECK(found.prep_stall_s == 0.0);
  CHECK(found.fetch_stall_s == 0.0);
}

TEST_CASE("a stall of data in memory is of the preparation, and its stage's threads are raised") {
  const app::Diagnosis found = diagnosis_of(ceilings_of(slow_decode, slow_decode));
  CHECK(found.limit == app::Limit::preparation);
  CHECK(*found.prep_stall_s == doctest::Approx(0.010));
  CHECK(found.prep_share == doctest::Approx(0.5));
  CHECK(found.fetch_share == 0.0);
  CHECK(found.memory.bottleneck == "decode");
  CHECK(contains(found.to_do, "raise threads.loader 1 -> 3"));
}

TEST_CASE("what more threads do not help is cached where that can be") {
  Pace full = slow_decode;
  full.threads = 8;
  full.busy_s *= 8;
  full.process_share = 1.0;
  CHECK(contains(diagnosis_of(ceilings_of(full, full)).to_do,
                 "decode time a sample 10.0 ms -> 5.00 ms: more threads will not help"));
  const app::CeilingFacts facts{.settings = {.can_cache = true, .decoded_bytes = 512 << 20},
                                .memory_room = 1 << 30};
  CHECK(contains(diagnosis_of(ceilings_of(full, full), facts).to_do,
                 "set data.cache.memory 0B -> 512MiB"));
}

TEST_CASE("a stall of cold data alone is of the storage") {
  const app::Ceilings ceilings = ceilings_of({}, slow_read);
  const app::Diagnosis found = diagnosis_of(ceilings);
  CHECK(found.limit == app::Limit::storage);
  CHECK(*found.fetch_stall_s == doctest::Approx(0.010));
  CHECK(found.fetch_share == doctest::Approx(0.5));
  CHECK(found.prep_share == 0.0);
  CHECK(contains(found.to_do, "raise threads.io 4 ->"));
}

TEST_CASE("data on slow storage are brought nearer, by the keys that the configuration has") {
  app::Ceilings ceilings = ceilings_of({}, slow_read);
  ceilings.storage.io_pressure = 0.8;
  app::CeilingFacts facts{
      .settings = {.data_bytes = 100 << 20}, .memory_room = 1 << 30, .shared_room = 1 << 30};
  const app::Diagnosis found = diagnosis_of(ceilings, facts);
  REQUIRE(found.advice);
  CHECK(found.advice->rule == "faster-storage");
  CHECK(contains(found.to_do, "read time a sample"));
  facts.settings.keys = {"data.stage"};
  CHECK(contains(diagnosis_of(ceilings, facts).to_do, "set data.stage \"\" -> /dev/shm"));
  facts.settings.keys = {"data.stage", "data.resident"};
  facts.settings.resident = 1 << 20;
  CHECK(contains(diagnosis_of(ceilings, facts).to_do, "set data.resident 1MiB -> 100MiB"));
  facts.settings.data_bytes = 1ULL << 40;
  CHECK(contains(diagnosis_of(ceilings, facts).to_do, "set data.stage \"\" -> a folder"));
}

TEST_CASE("what the step asks of storage is the bytes of a sample at the pace that memory gives") {
  app::Ceilings ceilings = ceilings_of({}, slow_read);
  ceilings.storage.window_s = 2.0;
  ceilings.storage.read_from_disk_per_s = 8e6;  // 10 kB a sample
  const auto asked = app::storage_demand(ceilings);
  REQUIRE(asked);
  CHECK(*asked == doctest::Approx(16e6));
  ceilings.storage.read_from_disk_per_s = 0.0;
  CHECK_FALSE(app::storage_demand(ceilings).has_value());
  ceilings.storage.read_from_disk_per_s = 8e6;
  ceilings.storage.cold = false;
  CHECK_FALSE(app::storage_demand(ceilings).has_value());
}

TEST_CASE("a trial of memory knows nothing of storage, whoever waits for it meanwhile") {
  app::Ceilings ceilings = ceilings_of(slow_read, slow_read);
  ceilings.memory.io_pressure = 0.9;
  const app::Diagnosis found = diagnosis_of(ceilings);
  CHECK(found.limit == app::Limit::preparation);
  CHECK(contains(found.to_do, "raise threads.io 4 ->"));
}

TEST_CASE("who takes the cores is the one thing where he holds the loader back, else not") {
  app::Ceilings ceilings = ceilings_of(slow_decode, slow_decode);
  ceilings.memory.others = {{.pid = 4711, .name = "hog", .cores = 4.0}};
  ceilings.memory.machine_share = 0.95;
  const app::Diagnosis found = diagnosis_of(ceilings);
  REQUIRE(found.advice);
  CHECK(found.advice->rule == "cpu-shared");
  CHECK(contains(found.to_do, "renice -n 19 -p 4711"));
  ceilings.memory.machine_share = 0.6;
  CHECK(contains(diagnosis_of(ceilings).to_do, "raise threads.loader 1 -> 3"));
  app::Ceilings healthy = ceilings_of({}, {});
  healthy.memory.others = ceilings.memory.others;
  healthy.memory.machine_share = 0.95;
  CHECK_FALSE(diagnosis_of(healthy).advice.has_value());
}

TEST_CASE("a limit that is too small is the one thing of a healthy pipeline, too") {
  app::Ceilings ceilings = ceilings_of({}, {});
  app::CeilingFacts facts{.files = headrace::monitor::RunFacts::Files{
                              .open = 5, .limit = 32, .hard_limit = 64, .needed = 5}};
  CHECK_FALSE(diagnosis_of(ceilings, facts).advice.has_value());
  ceilings.memory.open_files = 30;  // of the process that measured
  const app::Diagnosis found = diagnosis_of(ceilings, facts);
  CHECK(found.limit == app::Limit::device);
  CHECK(contains(found.to_do, "ulimit -n 32 -> 38"));
}

TEST_CASE("one slow sample is told from threads that are too few") {
  app::Ceilings ceilings = ceilings_of(slow_decode, slow_decode);
  ceilings.memory.stats.reorder_wait_s = 0.9;
  ceilings.memory.stats.threads = 8;
  const app::Diagnosis found = diagnosis_of(ceilings, {.settings = {.prefetch = 4}});
  REQUIRE(found.advice);
  CHECK(found.advice->rule == "slow-sample");
  CHECK(contains(found.to_do, "set data.prefetch 4 -> 8"));
}

TEST_CASE("storage that is memory has no stall of its own to mend") {
  app::Ceilings ceilings = ceilings_of({}, slow_read);
  ceilings.storage.cold = false;
  ceilings.storage.storage = "storage is memory: it has no disk";
  const app::Diagnosis found = diagnosis_of(ceilings);
  CHECK(found.limit == app::Limit::device);
  CHECK(contains(app::ceilings_text(ceilings, found), "storage is memory: it has no disk"));
}

TEST_CASE("a step that is slower beside the loader without a wait shares its cores") {
  const Pace crowded{.compute_s = 0.015, .process_share = 0.95};
  const app::Diagnosis found = diagnosis_of(ceilings_of(crowded, crowded));
  CHECK(found.limit == app::Limit::cores);
  CHECK(contains(found.to_do, "share the cores"));
  CHECK(diagnosis_of(ceilings_of({.compute_s = 0.0105}, {})).limit == app::Limit::device);
}

TEST_CASE("an error of the environment goes before all else, a warning does not") {
  app::Finding finding{.severity = headrace::monitor::Severity::warning,
                       .what = "open files",
                       .found = "256",
                       .wanted = "65536",
                       .way_out = "raise the limit of open files: ulimit -n 65536"};
  const app::Ceilings ceilings = ceilings_of(slow_decode, slow_decode);
  CHECK(diagnosis_of(ceilings, {}, {finding}).limit == app::Limit::preparation);
  finding.severity = headrace::monitor::Severity::error;
  const app::Diagnosis found = diagnosis_of(ceilings, {}, {finding});
  CHECK(found.limit == app::Limit::environment);
  CHECK(found.to_do == "environment: open files: raise the limit of open files: ulimit -n 65536");
}

TEST_CASE("a hard limit of open files that is too low is said as a training says it") {
  const app::Finding finding{.severity = headrace::monitor::Severity::error,
                             .what = "open files",
                             .found = "at most 24",
                             .way_out = "prlimit"};
  const app::CeilingFacts facts{.files = headrace::monitor::RunFacts::Files{
                                    .open = 5, .limit = 24, .hard_limit = 24, .needed = 32}};
  const app::Diagnosis found = diagnosis_of(ceilings_of({}, {}), facts, {finding});
  CHECK(found.limit == app::Limit::environment);
  CHECK(found.to_do.starts_with("environment: open files: ulimit -n 24 -> 32: "));
  REQUIRE(found.advice);
  CHECK(found.advice->rule == "file-limit");
}

TEST_CASE("too few steps give no verdict but the way to one") {
  app::Ceilings ceilings = ceilings_of({}, {});
  ceilings.memory.budget.steps = 2;
  const app::Diagnosis found = diagnosis_of(ceilings);
  CHECK(found.limit == app::Limit::cannot_tell);
  CHECK(contains(found.to_do, "only 2 steps measured"));
}

TEST_CASE("the text has a line an input and one last sentence, the JSON all of it") {
  app::Ceilings ceilings = ceilings_of(slow_decode, slow_decode);
  ceilings.storage.failed = "the trial was ended by signal 9";
  const app::Diagnosis found = diagnosis_of(ceilings);
  const std::string text = app::ceilings_text(ceilings, found);
  for (const char* words : {"device", "the step itself", "memory", "decode (800/s possible)",
                            "prep stall   10.0 ms a step, 50 %", "ended by signal 9"})
    CHECK_MESSAGE(contains(text, words), words << "\n" << text);
  const auto last = text.rfind("\nto do ");
  REQUIRE(last != std::string::npos);
  CHECK(contains(text.substr(last), "raise threads.loader 1 -> 3"));
  CHECK(
      contains(text.substr(last), "\nbecause      decode holds the loader back: data stall 50 %"));
  CHECK(contains(text.substr(last), "\ncheck        data stall and samples/s"));
  const auto json = nlohmann::json::parse(app::ceilings_json(ceilings, found, "job.yaml"));
  CHECK(json.at("limit") == "preparation");
  CHECK(json.at("ceilings").size() == 3);
  CHECK(json.at("memory_verdict").at("bottleneck") == "decode");
  CHECK(json.at("to_do") == found.to_do);
  const auto& advice = json.at("advice");
  CHECK(advice.at("setting") == "threads.loader");
  CHECK(advice.at("old") == "1");
  CHECK(advice.at("new") == "3");
  CHECK(advice.at("evidence").at("data_stall_fraction").get<double>() == doctest::Approx(0.5));
  CHECK_FALSE(advice.at("effect").get<std::string>().empty());
  CHECK_FALSE(advice.at("check").get<std::string>().empty());
}

TEST_CASE("a configuration without a model has two ceilings and no preparation stall") {
  app::Ceilings ceilings = ceilings_of(slow_decode, slow_decode);
  ceilings.device.reset();
  ceilings.memory.stage = ceilings.storage.stage = "";
  const app::Diagnosis found = diagnosis_of(ceilings);
  CHECK_FALSE(found.prep_stall_s.has_value());
  CHECK(found.limit == app::Limit::preparation);
  CHECK(nlohmann::json::parse(app::ceilings_json(ceilings, found, "")).at("ceilings").size() == 2);
}

TEST_CASE("no line of the text is wider than the terminal") {
  const app::Ceilings ceilings = ceilings_of(slow_decode, slow_read);
  const app::Diagnosis found = diagnosis_of(ceilings);
  for (const std::size_t columns : {80U, 100U, 200U}) {
    const std::string text = app::ceilings_text(ceilings, found, columns);
    CHECK_MESSAGE(app::width_of(text) <= columns, text);
    CHECK(contains(text, "data 10 + copy 0 + compute 10 + other 0"));
    CHECK(contains(text, "to do "));
  }
}
