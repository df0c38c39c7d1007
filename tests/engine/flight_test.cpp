#include <headrace/engine/headrace.h>
#include <headrace/engine/loader/detail/flight.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

using Span = detail::Flight::Span;

constexpr std::uint64_t turn = std::uint64_t{1} << 40;

/// Whether the span claims its tickets, each as its block, and none beside them.
bool claims_its_own(std::uint64_t first, std::uint64_t count) {
  Span span;
  span.publish(first, count);
  bool right = true;
  for (std::uint64_t block = 0; block < count; ++block)
    right = right && span.block(first + block) == static_cast<std::int64_t>(block);
  for (std::uint64_t off = 1; off < 100; ++off)
    right = right && span.block(first - off) == -1 && span.block(first + count - 1 + off) == -1;
  return right && span.block(first + turn / 2) == -1;
}

/// A table of single bytes whose last records come slowly.
class SlowEnd final : public Source {
 public:
  SlowEnd(std::int64_t records, std::int64_t slow) : records_(records), slow_(slow) {}
  std::string name() const override { return "slow end"; }
  std::int64_t size() const override { return records_; }
  Schema fields() const override { return {FieldSpec::fixed("byte", DType::uint8, Shape{})}; }
  void read(std::int64_t index, Sample& sample) const override {
    sample.set_scalar<std::uint8_t>("byte", byte(index));
  }
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    if (indices.front() >= records_ - slow_) std::this_thread::sleep_for(10ms);
    for (std::size_t k = 0; k < indices.size(); ++k)
      *rows.row(0, static_cast<std::int64_t>(k)) = static_cast<std::byte>(byte(indices[k]));
  }
  static std::uint8_t byte(std::int64_t index) { return static_cast<std::uint8_t>(index % 251); }

 private:
  std::int64_t records_;
  std::int64_t slow_;
};

}  // namespace

TEST_CASE("a span claims its tickets and no others, also where 40 bits of tickets wrap") {
  for (const std::uint64_t first :
       {std::uint64_t{0}, turn - 1, turn - 4, turn, turn + 1, 7 * turn - 5, 7 * turn + 3,
        ~std::uint64_t{0} - 6, ~std::uint64_t{0}}) {
    for (const std::uint64_t count : {1U, 2U, 8U, 1000U, 65536U}) {
      CAPTURE(first);
      CAPTURE(count);
      CHECK(claims_its_own(first, count));
    }
  }
}

TEST_CASE("a span of no tickets claims none") {
  Span span;
  CHECK(span.block(0) == -1);
  CHECK(span.block(turn) == -1);
  span.publish(turn - 1, 0);
  CHECK(span.block(turn - 1) == -1);
}

TEST_CASE("wherever spans begin and however long they are, they claim their own tickets") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t first = random() >> random() % 64;
    const std::uint64_t count = 1 + random() % (std::uint64_t{1} << random() % 12);
    CAPTURE(first);
    CAPTURE(count);
    CHECK(claims_its_own(first, count));
  }
}

TEST_CASE("of spans that follow each other round a ring, exactly one claims each ticket") {
  std::mt19937_64 random(2);
  std::array<Span, 5> ring;
  std::uint64_t next = turn - 20'000;
  for (std::size_t batch = 0; batch < 500; ++batch) {
    const std::uint64_t first = next;
    const std::uint64_t count = 1 + random() % 100;
    Span& own = ring[batch % ring.size()];
    own.publish(first, count);
    next += count;
    for (std::uint64_t ticket = first; ticket < next; ++ticket) {
      const auto claims =
          std::ranges::count_if(ring, [&](const Span& span) { return span.block(ticket) >= 0; });
      REQUIRE(claims == 1);
      REQUIRE(own.block(ticket) == static_cast<std::int64_t>(ticket - first));
    }
  }
  CHECK(next > turn);
}

TEST_CASE("a batch of more rows than a span has tickets is cut into longer blocks") {
  Watchdog watchdog("seventeen million rows");
  constexpr std::int64_t rows = (std::int64_t{1} << 24) + 100;
  constexpr std::int64_t slow = 100;
  Loader loader =
      Pipeline::from(SlowEnd(rows, slow))
          .batch({.size = rows})
          .build({.prefetch = 1, .join_epochs = false, .runtime = Runtime({.threads = 2})});
  // From these rows the loader learns that a block of one row is long enough.
  Position end = loader.position();
  end.position = rows - slow;
  loader.seek(end);
  CHECK(loader.next().batch.size() == slow);
  CHECK(loader.next().status == NextBatch::Status::end);
  std::int64_t wrong = 0;
  for (Batch& batch : loader.epoch(1)) {
    const auto bytes = batch["byte"].values<std::uint8_t>();
    REQUIRE(std::ssize(bytes) == rows);
    for (std::int64_t row = 0; row < rows; ++row)
      wrong += bytes[static_cast<std::size_t>(row)] == SlowEnd::byte(row) ? 0 : 1;
  }
  CHECK(wrong == 0);
}
