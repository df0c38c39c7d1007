#include <headrace/monitor/system/system_facts.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;

namespace {

SystemSample sample_of(double machine, double tree_cores) {
  SystemSample sample{.interval_s = 1.0, .cores = 4, .machine_share = machine};
  sample.tree = {.lives = true, .processes = 2, .cores = tree_cores};
  sample.host = {.total = 1000, .available = 400};
  return sample;
}

SystemFacts facts_of(std::span<const SystemSample> samples) {
  SystemFacts facts;
  for (const SystemSample& sample : samples)
    facts.add(sample);
  return facts;
}

}  // namespace

TEST_CASE("a window's machine facts are means, and the least room") {
  std::array samples{sample_of(0.2, 1.0), sample_of(0.6, 3.0)};
  samples[0].pressure = Pressure{.memory_some = 0.2, .io_some = 0.4};
  samples[0].host.available = 300;
  for (SystemSample& sample : samples)
    sample.tree.reads_told = true;
  samples[1].tree.read_per_s = 100;
  samples[1].tree.read_from_disk_per_s = 10;
  const MachineFacts facts = facts_of(samples).machine().value();
  CHECK(facts.samples == 2);
  CHECK(facts.cores == 4);
  CHECK(facts.machine_share == doctest::Approx(0.4));
  CHECK(facts.process_share == doctest::Approx(0.5));
  CHECK(facts.io_pressure == doctest::Approx(0.4));
  CHECK(facts.memory_pressure == doctest::Approx(0.2));
  CHECK(facts.read_per_s == doctest::Approx(50));
  CHECK(facts.read_from_disk_per_s == doctest::Approx(5));
  CHECK(facts.memory_room == 300);
  CHECK_FALSE(facts_of(samples).gpu());
  CHECK_FALSE(facts_of({}).machine());
}

TEST_CASE("without pressure it is unknown, not 0") {
  const std::array samples{sample_of(0.2, 1.0)};
  CHECK(facts_of(samples).machine()->io_pressure < 0.0);
  CHECK(facts_of(samples).machine()->memory_pressure < 0.0);
}

TEST_CASE("others are the processes that are not ours, by the time that each look covers") {
  std::array samples{sample_of(0.2, 1.0), sample_of(0.2, 1.0), sample_of(0.2, 1.0)};
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i].at_s = 2.0 * static_cast<double>(i + 1);
  samples[0].busiest = {{.pid = 1, .name = "us", .cores = 3.0, .ours = true},
                        {.pid = 2, .name = "hog", .cores = 2.0}};
  samples[2].busiest = {{.pid = 3, .name = "late", .cores = 1.2},
                        {.pid = 2, .name = "hog", .cores = 0.5}};
  const auto others = facts_of(samples).machine()->others;
  REQUIRE(others.size() == 2);
  CHECK(others[0].name == "hog");
  CHECK(others[0].cores == doctest::Approx((2.0 * 2 + 0.5 * 4) / 6));
  CHECK(others[1].cores == doctest::Approx(1.2 * 4 / 6));
}

TEST_CASE("GPU facts are of the GPUs that ours is on") {
  std::vector<SystemSample> samples;
  for (const double busy : {0.1, 0.2, 0.9}) {
    samples.push_back(sample_of(0.1, 0.5));
    samples.back().gpus = {
        {.index = 0, .name = "A", .busy_share = 1.0, .memory_used = 9, .memory_total = 10},
        {.index = 1, .name = "B", .busy_share = busy, .memory_used = 4, .memory_total = 10}};
    GpuSample& gpu = samples.back().gpus[1];
    gpu.temperature_c = 50.0 + 10.0 * busy;
    gpu.processes = {{.pid = 7, .ours = true}, {.pid = 8, .name = "python", .memory = 3ULL << 30}};
    if (busy < 0.5) gpu.throttled = {"power limit"};
    if (busy > 0.5) gpu.throttled = {"temperature"};
  }
  const GpuFacts facts = facts_of(samples).gpu().value();
  CHECK(facts.name == "B");
  CHECK(facts.busy_share == doctest::Approx(0.4));
  CHECK(facts.idle_samples_share == doctest::Approx(2.0 / 3));
  CHECK(facts.sm_active_share < 0.0);
  CHECK(facts.memory_peak == 4);
  CHECK(facts.memory_total == 10);
  CHECK(facts.temperature_c == doctest::Approx(59.0));
  CHECK(facts.throttled == std::vector<std::string>{"power limit"});
  CHECK(facts.others == std::vector<std::string>{"python 8 (3.00 GiB)"});
  CHECK(facts.our_context);
}

TEST_CASE("where the driver names no process of ours, the busiest GPU counts") {
  std::array samples{sample_of(0.1, 0.5)};
  samples[0].gpus = {{.index = 0, .name = "idle", .busy_share = 0.0},
                     {.index = 1, .name = "busy", .busy_share = 0.8}};
  const GpuFacts facts = facts_of(samples).gpu().value();
  CHECK(facts.name == "busy");
  CHECK_FALSE(facts.our_context);
}

TEST_CASE("facts can begin another window") {
  SystemFacts facts;
  facts.add(sample_of(1.0, 1.0));
  facts.clear();
  CHECK_FALSE(facts.machine());
  facts.add(sample_of(0.5, 1.0));
  CHECK(facts.machine()->machine_share == doctest::Approx(0.5));
}

TEST_CASE("a window knows what others hold of the GPU at most, its clocks and its power") {
  std::vector<SystemSample> samples(2, sample_of(0.1, 5.0));
  for (SystemSample& sample : samples)
    sample.gpus = {{.name = "A", .busy_share = 0.9, .memory_total = 100}};
  GpuSample& first = samples[0].gpus[0];
  first.processes = {{.pid = 7, .memory = 40, .ours = true},
                     {.pid = 8, .name = "one", .memory = 10},
                     {.pid = 9, .name = "two", .memory = 5}};
  first.sm_clock_mhz = 1000;
  first.most_sm_clock_mhz = 1980;
  first.power_w = 300;
  first.power_limit_w = 350;
  GpuSample& second = samples[1].gpus[0];
  second.processes = {{.pid = 7, .ours = true}, {.pid = 11, .name = "three", .memory = 12}};
  second.sm_clock_mhz = 1200;
  const GpuFacts facts = facts_of(samples).gpu().value();
  CHECK(facts.others_memory == 15);
  CHECK(facts.sm_clock_mhz == doctest::Approx(1100));
  CHECK(facts.most_sm_clock_mhz == 1980.0);
  CHECK(facts.power_w == 300.0);
  CHECK(facts.power_limit_w == 350.0);
  CHECK(facts_of(samples).machine()->process_share == 1.0);  // of 4 cores
}
