// A cache that was made before a fork: each process has records of its own from then on.
#include <headrace/loaders/cache/decoded_cache.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/forked_child.h>
#include <headrace/tests/support/temporary_folder.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t fork_records = 600;

struct ForkNumbered final : Source {
  std::string name() const override { return "numbered"; }
  std::int64_t size() const override { return fork_records; }
  Schema fields() const override { return {FieldSpec::fixed("x", DType::int64, Shape{64})}; }
  void read(std::int64_t index, Sample& sample) const override {
    Tensor& x = sample.make("x", DType::int64, Shape{64});
    for (std::int64_t i = 0; i < 64; ++i)
      x.data<std::int64_t>()[i] = index * 64 + i;
  }
};

struct DecodeNothing {
  std::string name() const { return "decode"; }
  Schema schema(const Schema& in) const { return in; }
  void operator()(Sample&) const {}
};

/// A cache with its source and its step, read as a loader would.
struct Cached {
  explicit Cached(const std::filesystem::path& folder)
      : cache(std::make_shared<ForkNumbered>(), {.bytes = 64_MiB, .folder = folder}) {}

  /// Rows of `count` records, from record `first` on in steps, that are not the source's.
  std::int64_t wrong(std::int64_t first, std::int64_t step, std::int64_t count) const {
    std::int64_t wrong = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t index = (first + k * step) % fork_records;
      Sample sample;
      source->read(index, sample);
      keep(sample);
      const auto* x = sample["x"].data<std::int64_t>();
      bool right = true;
      for (std::int64_t i = 0; i < 64; ++i)
        right = right && x[i] == index * 64 + i;
      wrong += right ? 0 : 1;
    }
    return wrong;
  }

  DecodedCache cache;
  std::shared_ptr<const Source> source = cache.source();
  DecodedCache::Kept<DecodeNothing> keep = cache.keep(DecodeNothing{});
};

void wait_for_word(int pipe_end) {
  char word = 0;
  if (read(pipe_end, &word, 1) != 1) throw std::runtime_error("no word came");
}

}  // namespace

TEST_CASE("both processes have the source's rows, of records kept before the fork and after it" *
          doctest::skip(cannot_fork)) {
  const TemporaryFolder folder;
  for (const bool disk : {true, false}) {
    CAPTURE(disk);
    const Cached cached(disk ? folder.path() : std::filesystem::path());
    CHECK(cached.wrong(0, 1, 100) == 0);
    int go[2];
    REQUIRE(pipe(go) == 0);
    ForkedChild child([&] {
      wait_for_word(go[0]);
      const std::int64_t first = cached.wrong(599, 599, fork_records);
      const DecodedCache::Stats stats = cached.cache.stats();
      const std::int64_t again = cached.wrong(0, 1, fork_records);
      return std::to_string(first) + " " + std::to_string(again) + " wrong, kept " +
             std::to_string(stats.samples) + ", hit " +
             std::to_string(cached.cache.stats().hits - stats.hits);
    });
    CHECK(cached.wrong(0, 1, fork_records) == 0);
    REQUIRE(write(go[1], "x", 1) == 1);
    CHECK(child.said() == "0 0 wrong, kept 600, hit 600");
    CHECK(cached.wrong(0, 1, fork_records) == 0);
    CHECK(cached.cache.stats().samples == fork_records);
    close(go[0]);
    close(go[1]);
  }
}

TEST_CASE("a cache that other threads are at when the process forks hangs no child" *
          doctest::skip(cannot_fork_at_work)) {
  const Cached cached({});
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> wrong{0};
  std::thread reader([&] {
    while (!over) {
      wrong += cached.wrong(0, 1, fork_records);
      static_cast<void>(cached.cache.stats());
    }
  });
  for (int i = 0; i < 20; ++i)
    CHECK(in_a_child([&] { return std::to_string(cached.wrong(0, 1, 2 * fork_records)); }) == "0");
  over = true;
  reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("a child that ends takes nothing from the cache of the process that it was forked from" *
          doctest::skip(cannot_fork)) {
  const TemporaryFolder folder;
  auto cached = std::make_unique<const Cached>(folder.path());
  CHECK(cached->wrong(0, 1, fork_records) == 0);
  CHECK(in_a_child([&] {
          cached.reset();
          return std::string("gone");
        }) == "gone");
  CHECK(cached->wrong(0, 1, fork_records) == 0);
  CHECK(cached->cache.stats().hits == fork_records);
}
