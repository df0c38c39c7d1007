#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/memory_line.h>

#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;

TEST_CASE("three points of one line give its base and its slope") {
  const MemoryLine line(std::vector<MemoryPoint>{{4, 1400}, {1, 1100}, {2, 1200}});
  CHECK(line.base() == doctest::Approx(1000));
  CHECK(line.per_row() == doctest::Approx(100));
  CHECK(line.misfit() < 1e-9);
  CHECK(line.at(32) == 4200);
  CHECK(line.most_rows(4200) == 32);
  CHECK(line.most_rows(4199) == 31);
  CHECK(line.most_rows(1099) == std::nullopt);
}

TEST_CASE("points that lie on two lines give the one of the larger batches") {
  // Up to 2 rows an optimiser's step is the peak, from there on the activations.
  const MemoryLine line(std::vector<MemoryPoint>{{1, 5000}, {2, 5100}, {4, 9100}});
  CHECK(line.at(8) == 17100);
  CHECK(line.misfit() > 0.1);
}

TEST_CASE("one point is enough where it is known what is held without rows") {
  const MemoryLine line(std::vector<MemoryPoint>{{2, 3000}}, 1000);
  CHECK(line.at(4) == 5000);
  CHECK(line.most_rows(4999) == 3);
}

TEST_CASE("memory that does not depend on rows leaves room for any number of them") {
  const MemoryLine line(std::vector<MemoryPoint>{{1, 500}, {2, 500}});
  CHECK(line.most_rows(499) == std::nullopt);
  CHECK(line.most_rows(500).value() > 1'000'000'000);
}

TEST_CASE("a line without points, and one of a point twice, are refused") {
  CHECK_THROWS_AS(MemoryLine(std::vector<MemoryPoint>{}), headrace::ConfigError);
  CHECK_THROWS_AS(MemoryLine(std::vector<MemoryPoint>{{2, 1}, {2, 1}}), headrace::ConfigError);
}
