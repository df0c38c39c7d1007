#include <headrace/monitor/system/usage_statistics.h>

#include <doctest/doctest.h>

using namespace headrace::monitor;

TEST_CASE("quantiles of shares are right to a thousandth, however many there are") {
  ShareMeter meter;
  CHECK_FALSE(meter.spread());
  for (int i = 1; i <= 100'000; ++i)
    meter.add(i / 100'000.0);
  const ShareSpread spread = meter.spread().value();
  CHECK(spread.samples == 100'000);
  CHECK(spread.mean == doctest::Approx(0.5).epsilon(0.001));
  CHECK(spread.p50 == doctest::Approx(0.50).epsilon(0.003));
  CHECK(spread.p90 == doctest::Approx(0.90).epsilon(0.002));
  CHECK(spread.p99 == doctest::Approx(0.99).epsilon(0.002));
  CHECK(spread.most == 1.0);
}

TEST_CASE("one share is all its quantiles, and what is outside counts as the bound") {
  ShareMeter meter;
  meter.add(0.25);
  CHECK(meter.spread()->p50 == 0.25);
  CHECK(meter.spread()->p99 == 0.25);
  meter.add(1.7);
  CHECK(meter.spread()->most == 1.0);
  meter.add(-3.0);
  CHECK(meter.spread()->p50 == 0.25);
}

TEST_CASE("a window has statistics of what its samples told, and none of the rest") {
  UsageMeter meter;
  SystemSample sample{.interval_s = 2.0, .cores = 4, .machine_share = 0.4};
  meter.add(sample);
  CHECK(meter.statistics().seconds == 2.0);
  CHECK(meter.statistics().cpu->mean == doctest::Approx(0.4));
  CHECK_FALSE(meter.statistics().process);
  CHECK_FALSE(meter.statistics().memory);
  CHECK_FALSE(meter.statistics().gpu_busy);
  CHECK_FALSE(meter.statistics().io_pressure);
  sample.machine_share = 0.8;
  sample.tree = {.processes = 1, .cores = 2.0};
  sample.host = {.total = 100, .available = 25};
  sample.pressure = Pressure{.io_some = 0.1};
  sample.gpus = {{.busy_share = 0.5, .memory_used = 10, .memory_total = 40},
                 {.busy_share = 0.7, .memory_used = 20, .memory_total = 40}};
  meter.add(sample);
  const UsageStatistics statistics = meter.statistics();
  CHECK(statistics.cpu->mean == doctest::Approx(0.6));
  CHECK(statistics.cpu->most == doctest::Approx(0.8));
  CHECK(statistics.process->mean == doctest::Approx(0.5));
  CHECK(statistics.memory->mean == doctest::Approx(0.75));
  CHECK(statistics.memory_total == 100);
  CHECK(statistics.gpu_busy->mean == doctest::Approx(0.6));
  CHECK(statistics.gpu_memory->mean == doctest::Approx(0.375));
  CHECK(statistics.gpu_memory_total == 80);
  CHECK(statistics.io_pressure->mean == doctest::Approx(0.1));
}
