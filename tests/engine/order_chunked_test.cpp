#include <headrace/engine/base/error.h>
#include <headrace/engine/order/order.h>
#include <headrace/tests/engine/order_indices.h>
#include <headrace/tests/engine/statistics.h>

#include <algorithm>
#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::ConfigError;
using headrace::ShuffledByChunk;
using headrace::test::at;
using headrace::test::chi_square_excess;
using headrace::test::Indices;

Indices whole(const ShuffledByChunk& order, std::int64_t records, std::int64_t epoch) {
  const auto stream = order.bind(records);
  Indices out(static_cast<std::size_t>(stream->length()));
  stream->indices(epoch, 0, out);
  return out;
}

/// The most places between the first and the last record of one chunk.
std::int64_t widest_spread(const Indices& order, std::int64_t chunk) {
  const auto n = static_cast<std::int64_t>(order.size());
  std::vector<std::int64_t> first(at((n + chunk - 1) / chunk), n), last(first.size(), -1);
  for (std::int64_t place = 0; place < n; ++place) {
    const std::size_t c = at(order[at(place)] / chunk);
    first[c] = std::min(first[c], place);
    last[c] = std::max(last[c], place);
  }
  std::int64_t widest = 0;
  for (std::size_t c = 0; c < first.size(); ++c)
    widest = std::max(widest, last[c] - first[c] + 1);
  return widest;
}

TEST_CASE("shuffled by chunk shows every record exactly once, whatever does not divide") {
  for (const std::int64_t n : {1, 2, 9, 10, 11, 99, 100, 101, 1000, 1023, 4097}) {
    for (const std::int64_t chunk : {1, 3, 10, 64, 5000}) {
      for (const std::int64_t window : {1, 2, 7, 1000}) {
        for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
          Indices order = whole({.seed = 3, .chunk = chunk, .window = window}, n, epoch);
          std::ranges::sort(order);
          bool all = true;
          for (std::int64_t i = 0; i < n; ++i)
            all = all && order[at(i)] == i;
          CHECK_MESSAGE(all, "n ", n, " chunk ", chunk, " window ", window, " epoch ", epoch);
        }
      }
    }
  }
}

TEST_CASE("the records of a chunk stay within one window") {
  for (const std::int64_t n : {10'000, 10'037}) {
    for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
      const Indices order = whole({.seed = 1, .chunk = 64, .window = 8}, n, epoch);
      CHECK(widest_spread(order, 64) <= 64 * 8);
      CHECK(widest_spread(order, 64) > 64 * 4);
    }
  }
}

TEST_CASE("chunks are permuted and so are the records of a window") {
  const std::int64_t n = 64 * 100;
  std::vector<std::int64_t> places(10'000), neighbours(2);
  for (std::int64_t epoch = 0; epoch < 400; ++epoch) {
    const Indices order = whole({.seed = 5, .chunk = 64, .window = 4}, n, epoch);
    for (std::int64_t i = 0; i < n; i += 64)
      ++places[at(i / 64 * 100 + order[at(i)] / 64)];
    for (std::int64_t i = 1; i < n; ++i)
      ++neighbours[order[at(i)] == order[at(i - 1)] + 1 ? 1 : 0];
  }
  CHECK(chi_square_excess(places) < 5);
  CHECK(neighbours[1] * 100 < neighbours[0]);
}

TEST_CASE("the short chunk at the end of the records has no place of its own") {
  std::set<std::int64_t> slots;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    const Indices order = whole({.seed = 2, .chunk = 10, .window = 1}, 93, epoch);
    const auto found = std::ranges::find_if(order, [](std::int64_t i) { return i >= 90; });
    slots.insert((found - order.begin()) / 10);
  }
  CHECK(slots.size() == 10);
}

TEST_CASE("any block of places of a chunked order gives what the whole epoch gives there") {
  const auto stream =
      ShuffledByChunk{.seed = 9, .chunk = 32, .window = 3, .epoch_size = 3000}.bind(1001);
  Indices all(3000), pieces(3000);
  stream->indices(1, 0, all);
  for (std::size_t first = 0; first < 3000; first += 100) {
    stream->indices(1, static_cast<std::int64_t>(first), std::span(pieces).subspan(first, 100));
  }
  CHECK(pieces == all);
  CHECK(stream->exactly_once());
  CHECK(Indices(all.begin(), all.begin() + 1001) !=
        Indices(all.begin() + 1001, all.begin() + 2002));
}

TEST_CASE("chunks and windows of no size are refused") {
  CHECK_THROWS_WITH_AS(ShuffledByChunk{.chunk = 0}.bind(5),
                       "[order] ShuffledByChunk: chunk and window are at least 1, got 0 and 16",
                       ConfigError);
  CHECK_THROWS_AS(ShuffledByChunk{.window = -2}.bind(5), ConfigError);
  CHECK_THROWS_AS(ShuffledByChunk{}.bind(0), ConfigError);
}

}  // namespace
