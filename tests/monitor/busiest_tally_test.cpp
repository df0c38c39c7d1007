#include <headrace/monitor/system/busiest_tally.h>

#include <doctest/doctest.h>

using namespace headrace::monitor;

namespace {

SystemSample look(double at_s, std::vector<ProcessUsage> busiest) {
  SystemSample sample{.at_s = at_s};
  sample.busiest = std::move(busiest);
  return sample;
}

}  // namespace

TEST_CASE("a tally gives means over its window, ours among them or left out") {
  BusiestTally tally;
  CHECK(tally.busiest().empty());
  tally.add(look(2.0, {{.pid = 1, .cores = 1.0, .ours = true}}));
  tally.add(look(3.0, {}));
  tally.add(look(4.0, {{.pid = 2, .cores = 3.0}, {.pid = 1, .cores = 1.0, .ours = true}}));
  REQUIRE(tally.busiest().size() == 2);
  CHECK(tally.busiest()[0].pid == 2);
  CHECK(tally.busiest()[0].cores == doctest::Approx(1.5));
  CHECK(tally.busiest()[1].cores == doctest::Approx(1.0));
  CHECK(tally.busiest(1).size() == 1);
  REQUIRE(tally.others().size() == 1);
  CHECK(tally.others()[0].pid == 2);
}

TEST_CASE("another window begins with nobody, and its first look covers the time since the last") {
  BusiestTally tally;
  tally.add(look(10.0, {{.pid = 1, .cores = 1.0}}));
  tally.clear();
  CHECK(tally.busiest().empty());
  tally.add(look(12.0, {{.pid = 2, .cores = 2.0}}));
  tally.add(look(14.0, {{.pid = 3, .cores = 1.0}}));
  CHECK(tally.busiest()[0].cores == doctest::Approx(1.0));
  CHECK(tally.busiest()[1].cores == doctest::Approx(0.5));
}

TEST_CASE("a tally of thousands of processes keeps the busiest of them") {
  BusiestTally tally;
  for (int i = 1; i <= 5000; ++i)
    tally.add(look(i, {{.pid = i, .cores = i == 17 ? 900.0 : 0.1}}));
  CHECK(tally.busiest()[0].pid == 17);
  CHECK(tally.busiest(1000).size() < 300);
}
