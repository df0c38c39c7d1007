#include <headrace/engine/base/error.h>
#include <headrace/monitor/system/detail/watch_pace.h>
#include <headrace/monitor/system/system_watch.h>

#include "eventually.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;
using namespace std::chrono_literals;
using headrace::monitor::detail::WatchPace;
using headrace::test::eventually;

namespace {

// A watch on a machine where looks and scans cost so much, for so many looks.
struct Trial {
  double look_s = 0.0;
  double scan_s = 0.0;
  int looks = 600;
  bool busy = false;

  double spent_s = 0.0;
  double elapsed_s = 0.0;
  int scans = 0;

  void run(double period_s) {
    constexpr double share = 0.002;
    WatchPace pace(period_s, share);
    pace.scanned(scan_s);
    spent_s = scan_s;
    double wait_s = period_s;
    for (int i = 0; i < looks; ++i) {
      elapsed_s += wait_s;
      spent_s += look_s;
      if (pace.may_scan(busy)) {
        pace.scanned(scan_s);
        spent_s += scan_s;
        ++scans;
      }
      wait_s = pace.looked(look_s, wait_s);
    }
  }
  double share() const { return spent_s / elapsed_s; }
};

double process_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Keeps a core busy for so long once the watch has what it compares with.
void keep_busy(const SystemWatch& watch, double seconds) {
  REQUIRE(eventually([&] { return watch.cpu_seconds() > 0.0; }));
  const double until = process_cpu_s() + seconds;
  while (process_cpu_s() < until) {
  }
}

SystemWatchOptions options_for(std::chrono::milliseconds period) {
  return {.sampler = {.nvml_library = ""}, .period = period};
}

}  // namespace

TEST_CASE(
    "with 300 processes a watch stays below its share of a core and still names the busiest") {
  for (const bool busy : {false, true}) {
    for (const double period_s : {1.0, 0.5}) {
      Trial trial{.look_s = 0.0004, .scan_s = 300 * 20e-6, .busy = busy};
      trial.run(period_s);
      CHECK(trial.share() < 0.0021);
      CHECK(trial.scans > trial.elapsed_s / 10.0);
    }
  }
}

TEST_CASE("where looks alone would cost too much, they come less often") {
  for (const double look_s : {0.003, 0.03, 0.3}) {
    Trial trial{.look_s = look_s, .scan_s = 0.1};
    trial.run(0.5);
    CHECK(trial.share() < 0.0021);
    CHECK(trial.scans > 0);
  }
  Trial cheap{.look_s = 0.0001, .scan_s = 0.001};
  cheap.run(1.0);
  CHECK(cheap.elapsed_s == doctest::Approx(600.0));
}

TEST_CASE("what a calm time saved is there when the machine gets busy") {
  WatchPace pace(1.0, 0.002);
  pace.scanned(0.006);
  while (!pace.may_scan(true))
    pace.looked(0.0, 1.0);
  CHECK_FALSE(pace.may_scan(false));
  for (int i = 0; i < 4; ++i)
    pace.looked(0.0, 1.0);
  REQUIRE(pace.may_scan(false));
  pace.scanned(0.006);
  CHECK_FALSE(pace.may_scan(false));
  CHECK(pace.may_scan(true));
}

TEST_CASE("a watch samples by itself, keeps the last, and goes on whatever its listener throws") {
  std::atomic<int> samples = 0;
  auto options = options_for(10ms);
  options.on_sample = [&](const SystemSample& sample) {
    if (sample.tree.processes > 0 && sample.interval_s > 0.0) ++samples;
    throw std::runtime_error("no disk left");
  };
  const SystemWatch watch(options);
  CHECK(eventually([&] { return samples >= 3; }));
  REQUIRE(watch.last());
  CHECK(watch.last()->tree.lives);
  CHECK(watch.cpu_seconds() > 0.0);
}

TEST_CASE("a watch goes on where looks fail, the first one among them") {
  std::atomic<int> asked = 0;
  auto options = options_for(10ms);
  options.sampler.driver_locked = [&]() -> std::uint64_t {
    if (++asked <= 3) throw std::runtime_error("the driver is gone");
    return 7;
  };
  const SystemWatch watch(options);
  CHECK(eventually([&] { return watch.last().has_value(); }));
  CHECK(asked > 3);
  REQUIRE(watch.last());
  CHECK(watch.last()->memory.driver_locked == 7);
}

TEST_CASE("a watch that ends within its first period has a sample all the same, and ends at once") {
  std::atomic<int> samples = 0;
  bool names_somebody = false;
  auto options = options_for(1h);
  options.on_sample = [&](const SystemSample& sample) {
    ++samples;
    names_somebody = !sample.busiest.empty();
  };
  const auto start = std::chrono::steady_clock::now();
  {
    const SystemWatch watch(options);
    CHECK_FALSE(watch.last());
    keep_busy(watch, 0.3);
  }
  CHECK(samples == 1);
  CHECK(names_somebody);
  CHECK(std::chrono::steady_clock::now() - start < 60s);
}

TEST_CASE("a watch that ends just behind a sample that looked at nobody still names the busiest") {
  std::atomic<int> samples = 0;
  std::vector<bool> names_somebody;
  auto options = options_for(200ms);
  options.most_share = 1e-6;  // no scan but the one of the end
  options.on_sample = [&](const SystemSample& sample) {
    CHECK(sample.interval_s > 0.04);
    names_somebody.push_back(!sample.busiest.empty());
    ++samples;
  };
  {
    const SystemWatch watch(options);
    keep_busy(watch, 0.1);
    CHECK(eventually([&] { return samples > 0; }));
  }
  REQUIRE(names_somebody.size() >= 2);
  CHECK(names_somebody.back());
  CHECK(std::ranges::count(names_somebody, true) == 1);
}

TEST_CASE("a watch refuses a period or a share of zero, and a process that is not there") {
  CHECK_THROWS_AS(SystemWatch(options_for(0ms)), headrace::ConfigError);
  auto options = options_for(1s);
  options.most_share = 0.0;
  CHECK_THROWS_AS(SystemWatch{options}, headrace::ConfigError);
  options = options_for(1s);
  options.sampler.pid = 1 << 30;
  CHECK_THROWS_AS(SystemWatch{options}, headrace::ConfigError);
}
