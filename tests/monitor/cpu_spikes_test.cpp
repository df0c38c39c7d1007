#include <headrace/monitor/system/cpu_spikes.h>

#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;

namespace {

// Samples of these shares, a second apart; `busiest` is that of all.
std::vector<CpuSpike> spikes_of(const std::vector<double>& shares,
                                std::vector<ProcessUsage> busiest = {}) {
  CpuSpikes spikes;
  double at_s = 0.0;
  for (const double share : shares) {
    SystemSample sample{.at_s = at_s += 1.0, .interval_s = 1.0, .machine_share = share};
    sample.unix_ms = static_cast<std::int64_t>(at_s * 1000.0);
    sample.busiest = busiest;
    spikes.add(sample);
  }
  return spikes.spikes();
}

}  // namespace

TEST_CASE("a spike has its start, length, level, mean and peak") {
  const auto spikes = spikes_of({0.2, 0.75, 0.85, 0.95, 0.82, 0.1, 0.1});
  REQUIRE(spikes.size() == 1);
  CHECK(spikes[0].start_s == doctest::Approx(1.0));
  CHECK(spikes[0].unix_ms == 1000);
  CHECK(spikes[0].length_s == doctest::Approx(4.0));
  CHECK(spikes[0].level == 0.80);  // 90 % only in one sample
  CHECK(spikes[0].mean == doctest::Approx((0.75 + 0.85 + 0.95 + 0.82) / 4));
  CHECK(spikes[0].peak == 0.95);
}

TEST_CASE("one busy sample is no spike, two are, at exactly the level too") {
  CHECK(spikes_of({0.1, 0.99, 0.1, 0.99, 0.1}).empty());
  CHECK(spikes_of({0.1, 0.70, 0.70, 0.1, 0.1}).at(0).level == 0.70);
  CHECK(spikes_of({0.1, 0.699, 0.70, 0.1, 0.1}).empty());
  CHECK(spikes_of({0.9, 0.9}).at(0).level == 0.90);  // one that lasts
}

TEST_CASE("a spike goes on over a dip, and one calm sample, and ends at the second") {
  CHECK(spikes_of({0.8, 0.8, 0.66, 0.8, 0.8, 0.1, 0.1}).at(0).length_s == doctest::Approx(5.0));
  const auto bridged = spikes_of({0.8, 0.8, 0.3, 0.8, 0.1, 0.1});
  REQUIRE(bridged.size() == 1);
  CHECK(bridged[0].length_s == doctest::Approx(4.0));
  CHECK(bridged[0].mean == doctest::Approx((0.8 * 3 + 0.3) / 4));
  CHECK(spikes_of({0.8, 0.8, 0.3, 0.3, 0.8, 0.8}).size() == 2);
}

TEST_CASE("a spike names the processes that were busiest in it, ours marked") {
  CpuSpikes spikes;
  SystemSample sample{.at_s = 1.0, .interval_s = 1.0, .machine_share = 0.9};
  sample.busiest = {{.pid = 1, .name = "hog", .cores = 1.0}};
  spikes.add(sample);
  sample.at_s = 2.0;
  sample.busiest = {{.pid = 1, .name = "hog", .cores = 3.0},
                    {.pid = 2, .name = "us", .cores = 2.0, .ours = true}};
  spikes.add(sample);
  sample.at_s = 3.0;
  sample.busiest.clear();
  spikes.add(sample);
  CHECK(spikes.lasts());
  const auto busiest = spikes.spikes().at(0).busiest;
  REQUIRE(busiest.size() == 2);
  CHECK(busiest[0].cores == 3.0);
  CHECK(busiest[1].ours);
}

TEST_CASE("of many spikes the largest are kept and all are counted") {
  std::vector<double> shares;
  for (int i = 0; i < 300; ++i)
    for (const double share : {0.75, i == 150 ? 0.99 : 0.75, i == 150 ? 0.99 : 0.1, 0.1, 0.1})
      shares.push_back(share);
  CpuSpikes spikes;
  double at_s = 0.0;
  for (const double share : shares)
    spikes.add({.at_s = at_s += 1.0, .interval_s = 1.0, .machine_share = share});
  CHECK(spikes.spikes().size() == CpuSpikes::most_kept);
  CHECK(spikes.count(0.70) == 300);
  CHECK(spikes.count(0.90) == 1);
  bool kept = false;
  for (const CpuSpike& spike : spikes.spikes())
    kept = kept || spike.level == 0.90;
  CHECK(kept);
}
