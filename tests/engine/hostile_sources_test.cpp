#include <headrace/tests/engine/failure_of.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t hostile_records = 50;
constexpr std::int64_t hostile_rows = 8;

}  // namespace

TEST_CASE("what a source says before it reads may throw too: the record fails as if its read had") {
  Watchdog watchdog("estimates, origins and parts that throw");
  struct Liar final : TableSource {
    enum class About { estimate, origin, part };
    Liar(About what, bool waits)
        : TableSource({.records = hostile_records, .blocking = waits}), about(what) {}
    void tell(About what, std::int64_t index) const {
      if (about == what && index == 20 && armed->load()) throw std::runtime_error("planted");
    }
    std::size_t working_bytes(std::int64_t index) const override {
      tell(About::estimate, index);
      return 16;
    }
    std::size_t largest_working_bytes() const override { return 16; }
    std::string origin(std::int64_t index) const override {
      tell(About::origin, index);
      return TableSource::origin(index);
    }
    std::int64_t part(std::int64_t index) const override {
      tell(About::part, index);
      return 0;
    }
    void read(std::int64_t index, Sample& sample) const override {
      TableSource::read(index, sample);
      if (index == 20 && armed->load()) throw DataError("unreadable");
    }
    About about;
    std::shared_ptr<std::atomic<bool>> armed = std::make_shared<std::atomic<bool>>(true);
  };
  for (auto about : {Liar::About::estimate, Liar::About::origin, Liar::About::part}) {
    for (bool blocking : {false, true}) {
      for (bool fuse : {false, true}) {
        auto source = std::make_shared<Liar>(about, blocking);
        Loader loader = Pipeline::from(source)
                            .then(Sum{})
                            .batch({.size = hostile_rows})
                            .build({.fuse = fuse, .runtime = Runtime({.threads = 2})});
        const Failure failure = failure_of(loader, 0);
        CHECK(failure.delivered == 2);
        CHECK_FALSE(failure.message.empty());
        *source->armed = false;
        CHECK(stream_of(loader, 1, 1).rows.size() == hostile_records);
      }
    }
  }
}

TEST_CASE("an order that throws ends the epoch with its message") {
  Watchdog watchdog("an order that throws");
  struct Broken final : IndexStream {
    std::int64_t length() const noexcept override { return hostile_records; }
    void indices(std::int64_t epoch, std::int64_t first,
                 std::span<std::int64_t> out) const override {
      if (epoch == 0 && first + std::ssize(out) > 20) throw std::runtime_error("planted");
      for (std::int64_t& index : out)
        index = first++;
    }
    bool exactly_once() const noexcept override { return true; }
    std::uint64_t seed() const noexcept override { return 0; }
    std::string describe() const override { return "broken"; }
  };
  struct Order {
    std::shared_ptr<const IndexStream> bind(std::int64_t) const {
      return std::make_shared<Broken>();
    }
  };
  for (bool gathers : {false, true}) {
    for (bool blocking : {false, true}) {
      for (bool fuse : {false, true}) {
        Loader loader =
            Pipeline::from(
                table({.records = hostile_records, .gathers = gathers, .blocking = blocking}))
                .order(Order{})
                .batch({.size = hostile_rows})
                .build({.fuse = fuse, .runtime = Runtime({.threads = 2})});
        const Failure failure = failure_of(loader, 0);
        CHECK(failure.delivered == 2);
        CHECK(failure.message.find("planted") != std::string::npos);
        CHECK(stream_of(loader, 1, 1).rows.size() == hostile_records);
      }
    }
  }
}
