#include <headrace/engine/base/error.h>
#include <headrace/engine/order/order.h>
#include <headrace/tests/engine/order_indices.h>
#include <headrace/tests/engine/statistics.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::ConfigError;
using headrace::IndexStream;
using headrace::Sequential;
using headrace::Shuffled;
using headrace::test::at;
using headrace::test::chi_square_excess;
using headrace::test::Indices;

Indices take(const IndexStream& stream, std::int64_t epoch, std::int64_t first,
             std::int64_t count) {
  Indices out(static_cast<std::size_t>(count), -1);
  stream.indices(epoch, first, out);
  return out;
}

Indices shuffled(std::int64_t n, std::uint64_t seed, std::int64_t epoch) {
  return take(*Shuffled{.seed = seed}.bind(n), epoch, 0, n);
}

/// What a shuffle must not be: (a * i + b) mod n.
Indices linear(std::int64_t n, std::int64_t epoch) {
  Indices out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    out[static_cast<std::size_t>(i)] = (7919 * i + 104729 * epoch) % n;
  }
  return out;
}

bool is_permutation_of_all(Indices values) {
  std::ranges::sort(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

/// Counts of (next - this) mod n, in 32 classes.
std::vector<std::int64_t> steps(const Indices& order) {
  const auto n = static_cast<std::int64_t>(order.size());
  std::vector<std::int64_t> counts(32);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const std::int64_t step = (order[i + 1] - order[i] + n) % n;
    ++counts[at(step * 32 / n)];
  }
  return counts;
}

/// Pearson's correlation of an index with the one `lag` places on.
double serial_correlation(const Indices& order, std::size_t lag) {
  const double n = static_cast<double>(order.size());
  const double mean = (n - 1) / 2;
  const double variance = (n * n - 1) / 12;
  double sum = 0;
  for (std::size_t i = 0; i + lag < order.size(); ++i) {
    sum += (static_cast<double>(order[i]) - mean) * (static_cast<double>(order[i + lag]) - mean);
  }
  return sum / variance / (n - static_cast<double>(lag));
}

template <class Permute>
std::vector<std::int64_t> count_permutations(std::int64_t n, std::int64_t epochs, Permute permute) {
  std::vector<Indices> all;
  Indices next(at(n));
  std::iota(next.begin(), next.end(), 0);
  do {
    all.push_back(next);
  } while (std::ranges::next_permutation(next).found);
  std::vector<std::int64_t> counts(all.size());
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto found = std::ranges::lower_bound(all, permute(n, epoch));
    ++counts[static_cast<std::size_t>(found - all.begin())];
  }
  return counts;
}

TEST_CASE("sequential order counts up, cuts and wraps") {
  CHECK(take(*Sequential{}.bind(5), 3, 0, 5) == Indices{0, 1, 2, 3, 4});
  const auto cut = Sequential{.epoch_size = 3}.bind(5);
  CHECK(cut->length() == 3);
  const auto wrapped = Sequential{.epoch_size = 12}.bind(5);
  CHECK(wrapped->length() == 12);
  CHECK(take(*wrapped, 0, 3, 9) == Indices{3, 4, 0, 1, 2, 3, 4, 0, 1});
  CHECK(wrapped->exactly_once());
}

TEST_CASE("shuffled order is a bijection for every small number of records") {
  for (std::int64_t n = 1; n <= 2100; ++n) {
    if (!is_permutation_of_all(shuffled(n, 11, n))) FAIL("n = " << n);
  }
}

TEST_CASE(
    "shuffled order is a bijection for large numbers of records, primes and powers among them") {
  for (const std::int64_t n : {4093, 4095, 4096, 4097, 8191, 10000, 62500, 65536, 65537, 99991,
                               123456, 500009, 777777, 999983, 999999, 1000000}) {
    CAPTURE(n);
    CHECK(is_permutation_of_all(shuffled(n, 5, 2)));
  }
}

TEST_CASE("shuffled order of more records than memory could list stays distinct and in range") {
  for (const std::int64_t n :
       {(std::int64_t{1} << 40) + 7, std::int64_t{9'000'000'000'000'000'000}}) {
    const auto stream = Shuffled{.seed = 3}.bind(n);
    Indices first = take(*stream, 0, 0, 50'000);
    const Indices last = take(*stream, 0, n - 50'000, 50'000);
    first.insert(first.end(), last.begin(), last.end());
    std::ranges::sort(first);
    CHECK(first.front() >= 0);
    CHECK(first.back() < n);
    CHECK(std::ranges::adjacent_find(first) == first.end());
  }
}

TEST_CASE("any block of places gives what the whole epoch gives there") {
  const auto stream = Shuffled{.seed = 9, .epoch_size = 5000}.bind(777);
  const Indices whole = take(*stream, 4, 0, 5000);
  for (const std::int64_t block : {1, 7, 256, 1000}) {
    Indices pieces;
    for (std::int64_t first = 0; first < 5000; first += block) {
      const Indices piece = take(*stream, 4, first, std::min(block, 5000 - first));
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    CHECK(pieces == whole);
  }
}

TEST_CASE("every permutation of four and of five records comes up equally often") {
  const auto permute = [](std::int64_t n, std::int64_t epoch) { return shuffled(n, 1, epoch); };
  CHECK(chi_square_excess(count_permutations(4, 48'000, permute)) < 5);
  CHECK(chi_square_excess(count_permutations(5, 120'000, permute)) < 5);
  const auto by_seed = [](std::int64_t n, std::int64_t seed) {
    return shuffled(n, static_cast<std::uint64_t>(seed), 0);
  };
  CHECK(chi_square_excess(count_permutations(4, 48'000, by_seed)) < 5);
  CHECK(chi_square_excess(count_permutations(4, 48'000, linear)) > 5);
}

TEST_CASE("every record comes up equally often at every place") {
  for (const std::int64_t n : {7, 63, 64, 100}) {
    std::vector<std::int64_t> counts(at(n * n));
    for (std::int64_t epoch = 0; epoch < 20'000; ++epoch) {
      const Indices order = shuffled(n, 77, epoch);
      for (std::int64_t place = 0; place < n; ++place)
        ++counts[at(place * n + order[at(place)])];
    }
    CAPTURE(n);
    CHECK(chi_square_excess(counts) < 5);
  }
}

TEST_CASE("both parities of a permutation come up, also where a x b is exactly n") {
  for (const std::int64_t n : {9, 15, 25}) {
    int odd = 0;
    for (std::int64_t epoch = 0; epoch < 2000; ++epoch) {
      const Indices order = shuffled(n, 8, epoch);
      int inversions = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        for (std::size_t j = i + 1; j < order.size(); ++j)
          inversions += order[i] > order[j] ? 1 : 0;
      }
      odd += inversions % 2;
    }
    CAPTURE(n);
    CHECK(odd > 880);
    CHECK(odd < 1120);
  }
}

TEST_CASE("neighbouring places are unrelated, which a linear congruence fails") {
  for (const std::int64_t n : {1000, 4099, 18'000, 100'003, 1'000'000}) {
    const Indices order = shuffled(n, 42, 1);
    CAPTURE(n);
    CHECK(chi_square_excess(steps(order)) < 5);
    for (const std::size_t lag : {1, 2, 3, 7, 64, 100}) {
      CHECK(std::abs(serial_correlation(order, lag)) < 5 / std::sqrt(static_cast<double>(n)));
    }
    CHECK(chi_square_excess(steps(linear(n, 1))) > 5);
  }
  CHECK(std::abs(serial_correlation(linear(1'000'000, 1), 1)) > 5e-3);
}

TEST_CASE("place, this epoch's record and the next epoch's record are independent") {
  const auto joint = [](const Indices& a, const Indices& b) {
    const auto n = static_cast<std::int64_t>(a.size());
    std::vector<std::int64_t> place(400), pair(400);
    for (std::int64_t i = 0; i < n; ++i) {
      ++place[at(i * 20 / n * 20 + a[at(i)] * 20 / n)];
      ++pair[at(a[at(i)] * 20 / n * 20 + b[at(i)] * 20 / n)];
    }
    return std::max(chi_square_excess(place), chi_square_excess(pair));
  };
  for (const std::int64_t n : {5000, 65'536, 300'007}) {
    CHECK(joint(shuffled(n, 6, 0), shuffled(n, 6, 1)) < 5);
    CHECK(joint(shuffled(n, 6, 0), shuffled(n, 7, 0)) < 5);
    CHECK(joint(linear(n, 0), linear(n, 1)) > 5);
  }
}

TEST_CASE(
    "epochs, seeds and passes have permutations of their own, and the same key the same one") {
  CHECK(shuffled(1000, 1, 0) == shuffled(1000, 1, 0));
  CHECK(shuffled(1000, 1, 0) != shuffled(1000, 1, 1));
  CHECK(shuffled(1000, 1, 0) != shuffled(1000, 2, 0));
  const auto wrapped = Shuffled{.seed = 1, .epoch_size = 2500}.bind(1000);
  const Indices first = take(*wrapped, 0, 0, 1000);
  const Indices second = take(*wrapped, 0, 1000, 1000);
  CHECK(first == shuffled(1000, 1, 0));
  CHECK(is_permutation_of_all(second));
  CHECK(first != second);
  CHECK(second != shuffled(1000, 1, 1));
}

TEST_CASE("epoch_size cuts an epoch to the first places of its permutation") {
  const auto cut = Shuffled{.seed = 1, .epoch_size = 300}.bind(1000);
  CHECK(cut->length() == 300);
  const Indices whole = shuffled(1000, 1, 5);
  CHECK(take(*cut, 5, 0, 300) == Indices(whole.begin(), whole.begin() + 300));
}

TEST_CASE("version 1 of the shuffled order is what it was") {
  CHECK(IndexStream::version == 1);
  CHECK(shuffled(10, 7, 0) == Indices{4, 6, 8, 5, 2, 1, 0, 7, 9, 3});
  CHECK(take(*Shuffled{.seed = 7}.bind(1000), 3, 500, 6) == Indices{868, 329, 371, 969, 613, 940});
  CHECK(take(*Shuffled{.seed = 7}.bind(1'281'167), 89, 1'000'000, 6) ==
        Indices{478010, 542046, 1012330, 1158582, 127841, 162004});
}

TEST_CASE("orders that cannot be bound say why") {
  CHECK_THROWS_WITH_AS(Shuffled{}.bind(0),
                       "[order] Shuffled needs at least one record, the source has 0", ConfigError);
  CHECK_THROWS_WITH_AS(Sequential{}.bind(0),
                       "[order] Sequential needs at least one record, the source has 0",
                       ConfigError);
  CHECK_THROWS_WITH_AS(Shuffled{.epoch_size = -1}.bind(4),
                       "[order] Shuffled: epoch_size is at least 0 (0: every record), got -1",
                       ConfigError);
}

TEST_CASE("orders describe themselves") {
  CHECK(Sequential{}.bind(4)->describe() == "sequential of 4 records");
  const auto stream = Shuffled{.seed = 7, .epoch_size = 2000}.bind(806);
  CHECK(stream->describe() == "shuffled (seed 7) of 806 records, 2000 samples an epoch");
  CHECK(stream->seed() == 7);
  CHECK(stream->bytes() == 0);
}

}  // namespace
