#include <headrace/engine/headrace.h>
#include <headrace/loaders/cache/decoded_cache.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <unistd.h>

using namespace headrace;
using test::contains;

namespace {

constexpr std::int64_t counted_records = 50;

/// Records of 16 numbers that count how often they are read.
struct Counted final : Source {
  std::string name() const override { return "counted"; }
  std::int64_t size() const override { return counted_records; }
  Schema fields() const override {
    return {FieldSpec::fixed("x", DType::int32, Shape{16}),
            FieldSpec::fixed("label", DType::int64, Shape{})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    ++*reads;
    Tensor& x = sample.make("x", DType::int32, Shape{16});
    for (int i = 0; i < 16; ++i)
      x.data<std::int32_t>()[i] = static_cast<std::int32_t>(index * 100 + i);
    sample.set_scalar<std::int64_t>("label", index);
  }
  bool blocking() const override { return blocks; }
  std::size_t resident_bytes() const override { return 1000; }

  std::shared_ptr<std::atomic<std::int64_t>> reads = std::make_shared<std::atomic<std::int64_t>>(0);
  bool blocks = false;
};

/// A slow decode: squares, as another dtype.
struct Square {
  std::string name() const { return "decode"; }
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("x", DType::float32, Shape{16}));
    return out;
  }
  void operator()(Sample& sample) const {
    const Tensor from = sample["x"];
    Tensor& to = sample.make("x", DType::float32, Shape{16});
    for (int i = 0; i < 16; ++i) {
      const float v = static_cast<float>(from.data<std::int32_t>()[i]);
      to.data<float>()[i] = v * v;
    }
  }
};

struct AddNoise {
  std::string name() const { return "noise"; }
  void operator()(Sample& sample, Random& random) const {
    const Tensor from = sample["x"];
    Tensor& to = sample.make("x", DType::float32, Shape{16});
    for (int i = 0; i < 16; ++i)
      to.data<float>()[i] = from.data<float>()[i] + static_cast<float>(random.uniform());
  }
};

/// Says that it draws nothing, and draws.
struct Liar {
  bool draws() const { return false; }
  std::string name() const { return "decode"; }
  void operator()(Sample& sample, Random&) const {
    thread_local std::int32_t calls = 0;
    Tensor& to = sample.make("x", DType::float32, Shape{16});
    for (int i = 0; i < 16; ++i)
      to.data<float>()[i] = static_cast<float>(calls++);
  }
  Schema schema(const Schema& in) const { return Square().schema(in); }
};

using Bytes = std::vector<std::byte>;

Bytes three_epochs(Pipeline pipeline, int threads) {
  Loader loader = std::move(pipeline)
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = threads, .io_threads = 2})});
  Bytes bytes;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (const char* field : {"x", "label"}) {
        const Tensor tensor = batch[field];
        const auto* first = static_cast<const std::byte*>(tensor.raw());
        bytes.insert(bytes.end(), first, first + tensor.bytes());
      }
      CHECK(batch.names().size() == 2);
    }
  }
  return bytes;
}

template <class Op = Square>
Bytes plain(int threads, const Op& op = {}) {
  return three_epochs(
      Pipeline::from(Counted()).order(Shuffled{.seed = 3}).then(op).then(AddNoise()), threads);
}

template <class Op = Square>
Bytes cached(const DecodedCache& cache, int threads, const Op& op = {}) {
  return three_epochs(Pipeline::from(cache.source())
                          .order(Shuffled{.seed = 3})
                          .then(cache.keep(op))
                          .then(AddNoise()),
                      threads);
}

constexpr std::size_t plenty = std::size_t{1} << 20;

}  // namespace

TEST_CASE("the bytes are the same with and without a cache, in memory and on disk") {
  const test::TemporaryFolder folder;
  const Bytes expected = plain(2);
  for (const int threads : {1, 2, 8}) {
    for (const bool blocks : {false, true}) {
      for (const bool disk : {false, true}) {
        // Enough for all, for some, for one, for none.
        for (const std::size_t bytes :
             {plenty, std::size_t{6000}, std::size_t{400}, std::size_t{8}}) {
          CAPTURE(threads);
          CAPTURE(blocks);
          CAPTURE(disk);
          CAPTURE(bytes);
          Counted source;
          source.blocks = blocks;
          const DecodedCache cache(
              std::make_shared<Counted>(source),
              {.bytes = bytes, .folder = disk ? folder / "" : std::filesystem::path()});
          CHECK(cached(cache, threads) == expected);
          const DecodedCache::Stats stats = cache.stats();
          CHECK(stats.hits + stats.misses >=
                3 * counted_records);  // epochs join: a fourth may have begun
          CHECK(stats.bytes <= bytes);
          if (bytes == plenty) {
            CHECK(stats.samples == counted_records);
            CHECK_FALSE(stats.full);
            CHECK(source.reads->load() < counted_records + 16);  // epochs join: some are read twice
          } else {
            CHECK(stats.full);
            CHECK(stats.samples < counted_records);
          }
        }
      }
    }
  }
  CHECK(std::filesystem::is_empty(folder / ""));
}

namespace {

/// A step that makes another sample of each part of a record.
struct AddPart {
  std::string name() const { return "tile"; }
  void operator()(Sample& sample) const {
    auto* x = sample["x"].data<std::int32_t>();
    for (int i = 0; i < 16; ++i)
      x[i] += static_cast<std::int32_t>(1'000'000 * (1 + sample.origin().part));
  }
};

}  // namespace

TEST_CASE("the parts of a record are kept one by one, with the cache inside and outside") {
  const test::TemporaryFolder folder;
  const std::int64_t each = 3;
  const auto counted = std::make_shared<const Counted>();
  const auto parts = std::make_shared<const Expanded>(counted, each);
  const auto run = [](std::shared_ptr<const Source> source, auto step, int threads) {
    return three_epochs(Pipeline::from(std::move(source)).order(Shuffled{.seed = 3}).then(step),
                        threads);
  };
  const Bytes expected = run(parts, AddPart(), 2);
  for (const int threads : {1, 2, 8}) {
    for (const bool disk : {false, true}) {
      CAPTURE(threads);
      CAPTURE(disk);
      const DecodedCacheOptions options{.bytes = plenty,
                                        .folder = disk ? folder / "" : std::filesystem::path()};
      const DecodedCache inside(counted, options);
      CHECK(run(std::make_shared<const Expanded>(inside.source(), each), inside.keep(AddPart()),
                threads) == expected);
      CHECK(inside.stats().samples == each * counted_records);
      CHECK(inside.stats().hits >= each * counted_records);
      static_cast<void>(inside.shrink(0));
      CHECK(inside.stats().samples == (disk ? each * counted_records : 0));
      const DecodedCache outside(parts, options);
      CHECK(run(outside.source(), outside.keep(AddPart()), threads) == expected);
      CHECK(outside.stats().samples == each * counted_records);
    }
  }
}

TEST_CASE("a step that is not the same every time is seen by that comparison") {
  const DecodedCache cache(std::make_shared<Counted>(), {.bytes = plenty});
  CHECK(cached(cache, 1, Liar()) != plain(1, Liar()));
}

namespace {

/// No file of the process grows beyond `bytes` for the time of this object: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : action_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, action_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*action_)(int);
};

/// Empties the nameless files of this process in a folder.
int empty_files_in(const std::filesystem::path& folder) {
  int emptied = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.starts_with(folder.string()) &&
        ::ftruncate(std::stoi(entry.path().filename().string()), 0) == 0)
      ++emptied;
  }
  return emptied;
}

}  // namespace

TEST_CASE("a disk that is full ends the keeping; what could not be written takes nothing") {
  const test::TemporaryFolder folder;
  const Bytes expected = plain(2);
  std::atomic<int> warnings{0};
  const DecodedCache cache(
      std::make_shared<Counted>(),
      {.bytes = plenty, .folder = folder / "", .log = [&](LogLevel, std::string_view line) {
         warnings += line.find("cannot be written") != line.npos ? 1 : 0;
       }});
  Bytes got;
  {
    const FullDisk disk(900);  // seven samples
    got = cached(cache, 2);
  }
  CHECK(got == expected);
  CHECK(warnings == 1);
  constexpr std::size_t sample_bytes = 128;
  const DecodedCache::Stats stats = cache.stats();
  CHECK(stats.samples == 7);
  CHECK(stats.bytes == 7 * sample_bytes);
  CHECK(stats.hits > 0);
}

TEST_CASE("what the cache's file has lost is made anew") {
  const test::TemporaryFolder folder;
  const Bytes expected = plain(2);
  std::atomic<int> warnings{0};
  const auto source = std::make_shared<Counted>();
  const DecodedCache cache(
      source, {.bytes = plenty, .folder = folder / "", .log = [&](LogLevel, std::string_view line) {
                 warnings += line.find("cannot be read") != line.npos ? 1 : 0;
               }});
  CHECK(cached(cache, 2) == expected);
  const std::int64_t reads = source->reads->load();
  CHECK(empty_files_in(folder / "") == 1);
  CHECK(cached(cache, 2) == expected);
  CHECK(source->reads->load() >= reads + 3 * counted_records);
  CHECK(warnings == 1);
}

TEST_CASE("a cache lets go of what it is told to, and the bytes stay the same") {
  const Bytes expected = plain(2);
  const auto source = std::make_shared<Counted>();
  const DecodedCache cache(source, {.bytes = plenty});
  CHECK(cached(cache, 2) == expected);
  const std::size_t before = cache.stats().bytes;
  const std::size_t gone = cache.shrink(before / 2);
  const DecodedCache::Stats stats = cache.stats();
  CHECK(gone == before - stats.bytes);
  CHECK(stats.bytes <= before / 2);
  CHECK(stats.samples < counted_records);
  CHECK(stats.samples > 0);
  CHECK(cached(cache, 2) == expected);
  CHECK(cache.stats().bytes <= before / 2);
  CHECK(cache.shrink(plenty) == 0);
  CHECK(cache.stats().most == before / 2);
  CHECK(cache.shrink(0) > 0);
  CHECK(cache.stats().samples == 0);
  CHECK(cached(cache, 2) == expected);
  CHECK(cache.stats().bytes == 0);
}

TEST_CASE("a cache is emptied while loaders read from it") {
  const Bytes expected = plain(2);
  for (const bool blocks : {false, true}) {
    for (int round = 0; round < 20; ++round) {
      Counted source;
      source.blocks = blocks;
      const DecodedCache cache(std::make_shared<Counted>(source), {.bytes = plenty});
      std::jthread shrinking([&cache](const std::stop_token& stop) {
        for (std::size_t bytes = 8000; bytes > 0 && !stop.stop_requested(); bytes -= 80) {
          cache.shrink(bytes);
          std::this_thread::yield();
        }
      });
      CHECK(cached(cache, 8) == expected);
    }
  }
}

TEST_CASE("a cache on disk has nothing in memory to let go of, and a gone one is gone") {
  const test::TemporaryFolder folder;
  const WeakCache gone(DecodedCache(std::make_shared<Counted>(), {.bytes = plenty}));
  CHECK_FALSE(gone.lock());
  const DecodedCache cache(std::make_shared<Counted>(), {.bytes = plenty, .folder = folder / ""});
  CHECK(WeakCache(cache).lock());
  cached(cache, 2);
  CHECK(cache.on_disk());
  CHECK(cache.shrink(0) == 0);
  CHECK(cache.stats().samples == counted_records);
}

TEST_CASE("two loaders share a cache") {
  auto source = std::make_shared<Counted>();
  const DecodedCache cache(source, {.bytes = plenty});
  const Bytes expected = plain(2);
  CHECK(cached(cache, 2) == expected);
  const std::int64_t reads = source->reads->load();
  CHECK(cached(cache, 2) == expected);
  CHECK(source->reads->load() == reads);
}

TEST_CASE("what draws at random is refused, and so are halves of a cache") {
  const auto source = std::make_shared<Counted>();
  const DecodedCache cache(source, {.bytes = plenty});
  CHECK(contains(test::message_of<ConfigError>([&] { cache.keep(AddNoise()); }),
                 "noise draws at random"));
  CHECK(contains(test::message_of<ConfigError>([&] {
                   Pipeline::from(source).then(cache.keep(Square())).batch({.size = 2}).build();
                 }),
                 "begin with Pipeline::from(cache.source())"));
  CHECK(contains(test::message_of<ConfigError>([&] { DecodedCache(source, {}); }),
                 "must be positive"));
  CHECK(contains(test::message_of<ResourceError>(
                     [&] { DecodedCache(source, {.bytes = 1, .folder = "/no/such/folder"}); }),
                 "/no/such/folder"));
}

TEST_CASE("the forecast counts the cache with the source") {
  const auto source = std::make_shared<Counted>();
  const DecodedCache cache(source, {.bytes = plenty});
  CHECK(cache.source()->resident_bytes() >= 1000 + plenty);
  CHECK(cache.source()->resident_bytes() <= 1000 + plenty + 100 * counted_records);
  const test::TemporaryFolder folder;
  const DecodedCache on_disk(source, {.bytes = plenty, .folder = folder / ""});
  CHECK(on_disk.source()->resident_bytes() < 1000 + 100 * counted_records);
  const Loader loader =
      Pipeline::from(cache.source()).then(cache.keep(Square())).batch({.size = 2}).build();
  std::size_t counted = 0;
  for (const MemoryForecast::Item& item : loader.forecast().items) {
    if (item.name == "source") counted = item.bytes;
  }
  CHECK(counted == cache.source()->resident_bytes());
}
