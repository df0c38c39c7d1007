#include <headrace/engine/base/random.h>
#include <headrace/tests/engine/statistics.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::hash_name;
using headrace::philox4x32_10;
using headrace::Random;
using headrace::RandomKey;
using headrace::test::chi_square_excess;

using Block = std::array<std::uint32_t, 4>;

TEST_CASE("philox gives the published vectors") {
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) ==
        Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32_10({ones, ones, ones, ones}, {ones, ones}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("names hash as FNV-1a") {
  CHECK(hash_name("") == 0xcbf29ce484222325ULL);
  CHECK(hash_name("a") == 0xaf63dc4c8601ec8cULL);
  CHECK(hash_name("foobar") == 0x85944171f73967e8ULL);
}

// SplitMix64's increment and finaliser, written out again so that the packing is held from outside.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

TEST_CASE("a key is packed into Philox as the header says") {
  const RandomKey key{.seed = 0x0123456789abcdefULL,
                      .loader = hash_name("train"),
                      .epoch = 12,
                      .position = 0xabcd'1234'5678,
                      .operation = 0xfeedbeef,
                      .attempt = 0x1fe};
  const std::uint64_t mixed = mix(mix(mix(key.seed) ^ key.loader) ^ 12);
  const std::array<std::uint32_t, 2> philox_key{static_cast<std::uint32_t>(mixed),
                                                static_cast<std::uint32_t>(mixed >> 32)};
  Random random(key);
  for (std::uint32_t block = 0; block < 3; ++block) {
    const Block expected =
        philox4x32_10({block, 0xfeedbeef, 0x12345678, 0xabcd | 0x1fe0000}, philox_key);
    for (const std::uint32_t word : expected)
      CHECK(random() == word);
  }
}

TEST_CASE("draws are the numbers they were") {
  const RandomKey key{
      .seed = 1, .loader = hash_name("loader"), .epoch = 2, .position = 3, .operation = 4};
  Random random(key);
  CHECK(random() == 3709712765U);
  CHECK(random.bits64() == 13109739316177971711ULL);
  CHECK(random.uniform() == 0.18296130005316136);
  CHECK(random.below(1000) == 351);
  CHECK(random.normal() == doctest::Approx(-0.11662626629773998).epsilon(1e-12));
}

TEST_CASE("every part of the key gives draws of its own, and the same key the same draws") {
  const RandomKey base{
      .seed = 5, .loader = 6, .epoch = 7, .position = 8, .operation = 9, .attempt = 1};
  std::set<std::uint64_t> seen;
  const auto add = [&](const RandomKey& key) { return seen.insert(Random(key).bits64()).second; };
  CHECK(add(base));
  CHECK_FALSE(add(base));
  for (std::uint32_t i = 1; i <= 200; ++i) {
    RandomKey key = base;
    key.seed += i;
    CHECK(add(key));
    key = base;
    key.loader += i;
    CHECK(add(key));
    key = base;
    key.epoch += i;
    CHECK(add(key));
    key = base;
    key.position += i;
    CHECK(add(key));
    key = base;
    key.position += std::int64_t{i} << 32;
    CHECK(add(key));
    key = base;
    key.operation += i;
    CHECK(add(key));
    key = base;
    key.attempt += i;
    CHECK(add(key));
  }
}

/// First draws of neighbouring positions: what augmentation of a dataset really uses.
std::vector<double> first_uniforms(std::int64_t count) {
  std::vector<double> draws;
  for (std::int64_t i = 0; i < count; ++i)
    draws.push_back(Random({.seed = 3, .position = i}).uniform());
  return draws;
}

TEST_CASE("first draws of neighbouring positions are uniform and independent") {
  const auto draws = first_uniforms(200'000);
  std::vector<std::int64_t> single(100), pairs(400);
  for (std::size_t i = 0; i + 1 < draws.size(); ++i) {
    ++single[static_cast<std::size_t>(draws[i] * 100)];
    ++pairs[static_cast<std::size_t>(draws[i] * 20) * 20 +
            static_cast<std::size_t>(draws[i + 1] * 20)];
  }
  CHECK(chi_square_excess(single) < 5);
  CHECK(chi_square_excess(pairs) < 5);
  CHECK(*std::ranges::min_element(draws) >= 0);
  CHECK(*std::ranges::max_element(draws) < 1);
}

TEST_CASE("below is uniform for sizes that do not divide 2^64, also where rejection is common") {
  Random random({.seed = 10});
  std::vector<std::int64_t> small(7), thirds(3);
  const std::int64_t large = std::int64_t{3} << 61;
  for (int i = 0; i < 140'000; ++i) {
    ++small[static_cast<std::size_t>(random.below(7))];
    ++thirds[static_cast<std::size_t>(random.below(large) % 3)];
  }
  CHECK(chi_square_excess(small) < 5);
  CHECK(chi_square_excess(thirds) < 5);
  for (int i = 0; i < 100; ++i)
    CHECK(random.below(1) == 0);
}

TEST_CASE("uniform over a range stays below its end, also where rounding would reach it") {
  Random random({.seed = 11});
  for (int i = 0; i < 1000; ++i) {
    const double value = random.uniform(-2.0, 6.0);
    CHECK(value >= -2.0);
    CHECK(value < 6.0);
    const double tight = random.uniform(1.0, std::nextafter(1.0, 2.0));
    CHECK(tight == 1.0);
  }
}

TEST_CASE("chance and normal have the moments they promise") {
  Random random({.seed = 12});
  int heads = 0;
  double sum = 0, squares = 0, fourths = 0;
  const int count = 200'000;
  for (int i = 0; i < count; ++i) {
    heads += random.chance(0.3) ? 1 : 0;
    const double x = random.normal();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  CHECK(std::abs(heads - 0.3 * count) < 5 * std::sqrt(0.21 * count));
  CHECK(std::abs(sum / count) < 5 / std::sqrt(1.0 * count));
  CHECK(std::abs(squares / count - 1) < 5 * std::sqrt(2.0 / count));
  CHECK(std::abs(fourths / count - 3) < 5 * std::sqrt(96.0 / count));
  CHECK_FALSE(random.chance(0.0));
  CHECK(random.chance(1.0));
}

TEST_CASE("it serves the standard library's distributions and shuffles") {
  static_assert(std::uniform_random_bit_generator<Random>);
  Random random({.seed = 13});
  std::vector<int> values{1, 2, 3, 4, 5};
  std::ranges::shuffle(values, random);
  std::ranges::sort(values);
  CHECK(values == std::vector<int>{1, 2, 3, 4, 5});
}

}  // namespace
