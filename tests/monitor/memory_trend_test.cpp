#include <headrace/monitor/memory/memory_trend.h>

#include "memory_units.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;
using headrace::test::mib;

namespace {

// Of epochs from 1 on; the first figure is the first epoch's.
MemoryTrend trend_of(const std::vector<std::uint64_t>& figures) {
  MemoryTrend trend;
  std::int64_t epoch = 0;
  for (const std::uint64_t bytes : figures)
    trend.add(++epoch, bytes);
  return trend;
}

// A figure that grows by so much an epoch from the second on.
std::vector<std::uint64_t> growing(int epochs, std::uint64_t from, std::uint64_t by) {
  std::vector<std::uint64_t> figures{from / 2};
  for (int i = 0; i + 1 < epochs; ++i)
    figures.push_back(from + static_cast<std::uint64_t>(i) * by);
  return figures;
}

}  // namespace

TEST_CASE("the slope is the median over all pairs, and its interval leaves the outermost out") {
  // Slopes: -1, 1, 1, 1, 2, 2.5, 3, 3.67, 4, 7.
  const MemorySlope slope =
      theil_sen(std::vector<EpochBytes>{{1, 10}, {2, 9}, {3, 12}, {4, 13}, {5, 20}});
  CHECK(slope.per_epoch == 2.25);
  CHECK(slope.low == 1.0);
  CHECK(slope.high == 4.0);
}

TEST_CASE("epochs that are missing count as time that passed") {
  const MemorySlope slope = theil_sen(std::vector<EpochBytes>{{1, 10}, {5, 18}, {8, 24}, {9, 26}});
  CHECK(slope.per_epoch == 2.0);
  CHECK(slope.low == 2.0);
}

TEST_CASE("of four figures the interval is all slopes, of three there is none") {
  const MemorySlope four = theil_sen(std::vector<EpochBytes>{{1, 10}, {2, 12}, {3, 11}, {4, 14}});
  CHECK(four.low == -1.0);
  CHECK(four.high == 3.0);
  const MemorySlope three = theil_sen(std::vector<EpochBytes>{{1, 10}, {2, 12}, {3, 14}});
  CHECK(three.per_epoch == 2.0);
  CHECK(std::isinf(three.low));
  CHECK(std::isinf(three.high));
}

TEST_CASE("memory that grows is found from the fifth epoch on, the first left out") {
  CHECK_FALSE(trend_of(growing(4, 1024 * mib, 20 * mib)).growth().has_value());
  const std::optional<MemoryGrowth> growth = trend_of(growing(5, 1024 * mib, 20 * mib)).growth();
  REQUIRE(growth.has_value());
  CHECK(growth->slope.per_epoch == 20.0 * mib);
  CHECK(growth->first.epoch == 2);
  CHECK(growth->last.epoch == 5);
  CHECK(growth->bytes() == 60.0 * mib);
}

TEST_CASE("flat, falling and swinging memory does not grow") {
  CHECK_FALSE(trend_of(growing(20, 1024 * mib, 0)).growth().has_value());
  std::vector<std::uint64_t> falling;
  std::vector<std::uint64_t> swinging;
  for (std::uint64_t i = 0; i < 20; ++i) {
    falling.push_back((4096 - 50 * i) * mib);
    swinging.push_back((i % 2 == 0 ? 1000 : 1400) * mib);
  }
  CHECK_FALSE(trend_of(falling).growth().has_value());
  CHECK_FALSE(trend_of(swinging).growth().has_value());
  // Its slope is 71 MiB an epoch, and may as well be below 0.
  CHECK_FALSE(
      trend_of({500 * mib, 1000 * mib, 1300 * mib, 1050 * mib, 1350 * mib}).growth().has_value());
}

TEST_CASE("growth matters above 16 MiB, and above 1 % of the figure") {
  // Three epochs of growth.
  CHECK_FALSE(trend_of(growing(5, 100 * mib, 16 * mib / 3)).growth().has_value());
  CHECK(trend_of(growing(5, 100 * mib, 17 * mib / 3)).growth().has_value());
  // Of 10,000 MiB at the end 1 % is 100 MiB.
  CHECK_FALSE(trend_of(growing(5, 9901 * mib, 33 * mib)).growth().has_value());
  CHECK(trend_of(growing(5, 9898 * mib, 34 * mib)).growth().has_value());
}

TEST_CASE("memory that found its size grows no more") {
  MemoryTrend trend = trend_of({500 * mib, 1000 * mib, 1100 * mib, 1160 * mib, 1200 * mib});
  CHECK(trend.growth().has_value());
  trend.add(6, 1201 * mib);
  CHECK_FALSE(trend.growth().has_value());
}

TEST_CASE("an epoch that is done again counts once") {
  MemoryTrend trend = trend_of(growing(5, 1024 * mib, 20 * mib));
  trend.add(4, 1064 * mib);
  CHECK_FALSE(trend.growth().has_value());
  trend.add(5, 1084 * mib);
  CHECK(trend.growth()->slope.per_epoch == 20.0 * mib);
}

TEST_CASE("of a long run slow growth is seen, over all of its epochs") {
  const std::optional<MemoryGrowth> growth = trend_of(growing(400, 1024 * mib, mib / 8)).growth();
  REQUIRE(growth.has_value());
  CHECK(growth->slope.per_epoch == mib / 8.0);
  CHECK(growth->first.epoch == 2);
  CHECK(growth->last.epoch == 400);
}

TEST_CASE("a heap that swings as it will is no leak, and one that keeps 60 MB an epoch is") {
  // As a healthy run's was: the lower end of the slope is 1 KiB an epoch.
  MemoryTrend trend =
      trend_of({188 * mib, 258 * mib, 386 * mib, 294 * mib, 386 * mib + 3072, 466 * mib});
  CHECK_FALSE(trend.growth().has_value());
  trend.add(7, 258 * mib);
  trend.add(8, 342 * mib);
  CHECK_FALSE(trend.growth().has_value());
  const auto leak = [](std::uint64_t kept) { return 200 * mib + kept * 60'000'000; };
  CHECK(trend_of({188 * mib, leak(1) + 30 * mib, leak(2), leak(3) + 40 * mib, leak(4), leak(5)})
            .growth()
            .has_value());
}
