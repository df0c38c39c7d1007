#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// Rows of every batch of two epochs.
using Batches = std::vector<std::vector<std::string>>;

struct Job {
  std::int64_t records = 101;
  Tail tail = Tail::shorter;
  bool gathers = false;
};

Loader loader_of(const Job& job, Ranks ranks, const Runtime& runtime) {
  return stream_on({.records = job.records, .gathers = job.gathers})
      .ranks(ranks)
      .batch({.size = 12, .tail = job.tail})
      .build({.runtime = runtime});
}

Batches share_of(const Job& job, Ranks ranks, const Runtime& runtime) {
  Loader loader = loader_of(job, ranks, runtime);
  Batches batches;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::int64_t number = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      CHECK(batch.number() == number++);
      batches.push_back(rows_of(batch));
    }
    CHECK(number == loader.batches_per_epoch());
  }
  return batches;
}

/// The ranks' shares put side by side, `order` says which rank comes first.
Batches union_of(const Job& job, const std::vector<int>& order, const Runtime& runtime) {
  Batches whole;
  for (int rank : order) {
    const Batches share =
        share_of(job, {.rank = rank, .world = static_cast<int>(order.size())}, runtime);
    if (whole.empty()) whole.resize(share.size());
    REQUIRE(share.size() == whole.size());
    for (std::size_t k = 0; k < share.size(); ++k)
      whole[k].insert(whole[k].end(), share[k].begin(), share[k].end());
  }
  return whole;
}

std::string refusal(std::int64_t size, Ranks ranks) {
  try {
    work_on(table({.records = 100}), false).ranks(ranks).batch({.size = size}).build();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the union over one to four ranks is the same stream, whatever the tail") {
  Watchdog watchdog("the union over ranks");
  const Runtime runtime({.threads = 2});
  for (Tail tail : {Tail::shorter, Tail::drop, Tail::pad}) {
    for (std::int64_t records : {96, 97, 98, 101, 107}) {
      for (bool gathers : {false, true}) {
        const Job job{records, tail, gathers};
        const Batches expected = share_of(job, {}, runtime);
        CHECK(expected.size() ==
              2U * static_cast<std::size_t>(tail == Tail::drop || records == 96 ? 8 : 9));
        CAPTURE(records);
        CHECK((union_of(job, {0, 1}, runtime) == expected));
        CHECK((union_of(job, {0, 1, 2}, runtime) == expected));
        CHECK((union_of(job, {0, 1, 2, 3}, runtime) == expected));
      }
    }
  }
}

TEST_CASE("twin: two ranks swapped give another stream") {
  Watchdog watchdog("ranks swapped");
  const Runtime runtime({.threads = 2});
  CHECK_FALSE((union_of({}, {1, 0}, runtime) == share_of({}, {}, runtime)));
}

TEST_CASE("the rows of a full batch are shared equally, a short tail as evenly as it goes") {
  Watchdog watchdog("rows of a rank");
  const Runtime runtime({.threads = 2});
  for (int rank = 0; rank < 4; ++rank) {
    const Batches share = share_of({.records = 98}, {.rank = rank, .world = 4}, runtime);
    REQUIRE(share.size() == 18);
    for (std::size_t k = 0; k < 8; ++k)
      CHECK(share[k].size() == 3);
    CHECK(share[8].size() <= 1);
  }
}

TEST_CASE("a position after some rows of each rank's share leaves no sample out") {
  Watchdog watchdog("positions of views");
  const Runtime runtime({.threads = 2});
  for (Tail tail : {Tail::shorter, Tail::drop, Tail::pad}) {
    for (const int world : {1, 2, 3}) {
      for (const std::int64_t rows : {1, 2, 3, 4, 6}) {
        if (rows > 12 / world) continue;
        const Job job{.records = 53, .tail = tail};
        const Batches expected = share_of(job, {}, runtime);
        std::set<std::string> all, done;
        for (std::size_t k = 0; k < expected.size() / 2; ++k)
          all.insert(expected[k].begin(), expected[k].end());
        // All ranks leave the epoch within their last batch.
        const auto last = static_cast<std::int64_t>(expected.size() / 2) - 1;
        std::set<std::int64_t> places;
        Position place;
        for (int rank = 0; rank < world; ++rank) {
          Loader loader = loader_of(job, {.rank = rank, .world = world}, runtime);
          for (Batch& batch : loader.epoch(0)) {
            const Batch view =
                batch.number() < last ? batch : batch.rows(0, std::min(rows, batch.size()));
            const std::vector<std::string> seen = rows_of(view);
            done.insert(seen.begin(), seen.end());
            if (batch.number() < last) continue;
            place = view.position_after();
            places.insert(place.position);
          }
        }
        CAPTURE(world);
        CAPTURE(rows);
        CAPTURE(static_cast<int>(tail));
        if (tail != Tail::shorter) CHECK(places.size() == 1);
        place.position = *places.begin();
        // A tail that is dropped is another one behind another place.
        const Tail kept = tail == Tail::drop ? Tail::shorter : tail;
        Loader rest = loader_of({.records = 53, .tail = kept}, {}, runtime);
        rest.seek(place);
        for (Batch& batch : rest.epoch(0)) {
          const std::vector<std::string> seen = rows_of(batch);
          done.insert(seen.begin(), seen.end());
        }
        CHECK(std::ranges::includes(done, all));
      }
    }
  }
}

TEST_CASE("a position from one number of ranks resumes on another") {
  Watchdog watchdog("resume on other ranks");
  const Runtime runtime({.threads = 2});
  const Batches expected = share_of({}, {}, runtime);
  Position place;
  Loader first = loader_of({}, {.rank = 1, .world = 2}, runtime);
  for (Batch& batch : first.epoch(0)) {
    place = batch.position_after();
    if (batch.number() == 2) break;
  }
  CHECK(place.position == 36);
  std::vector<std::vector<std::string>> whole(6);
  for (int rank = 0; rank < 3; ++rank) {
    Loader loader = loader_of({}, {.rank = rank, .world = 3}, runtime);
    loader.seek(place);
    std::size_t k = 0;
    for (Batch& batch : loader.epoch(0)) {
      const std::vector<std::string> rows = rows_of(batch);
      whole.at(k).insert(whole.at(k).end(), rows.begin(), rows.end());
      ++k;
    }
  }
  CHECK((whole == Batches(expected.begin() + 3, expected.begin() + 9)));
}

TEST_CASE("a batch that the ranks do not divide is refused with the legal sizes") {
  const std::string message = refusal(10, {.rank = 0, .world = 4});
  CAPTURE(message);
  CHECK(message.find("8") != std::string::npos);
  CHECK(message.find("12") != std::string::npos);
  CHECK(message.find("10") != std::string::npos);
  CHECK(refusal(12, {.rank = 0, .world = 4}).empty());
}

TEST_CASE("a rank outside the world is refused") {
  CHECK_FALSE(refusal(12, {.rank = 4, .world = 4}).empty());
  CHECK_FALSE(refusal(12, {.rank = -1, .world = 4}).empty());
  CHECK_FALSE(refusal(12, {.rank = 0, .world = 0}).empty());
}
