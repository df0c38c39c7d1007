// What users hang into a loader - orders, sources, deleters of tensors, the log - may call the
// loader back, and may keep what they were given.
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// The loader that callbacks ask, once it is there.
struct Asked {
  std::atomic<Loader*> loader{nullptr};
  std::atomic<int> times{0};

  void ask() {
    if (Loader* found = loader.load(); found != nullptr) {
      static_cast<void>(found->stats());
      static_cast<void>(found->position());
      times.fetch_add(1);
    }
  }
};

class AskingStream final : public IndexStream {
 public:
  AskingStream(std::int64_t records, std::shared_ptr<Asked> asked)
      : records_(records), asked_(std::move(asked)) {}
  std::int64_t length() const noexcept override {
    asked_->ask();
    return records_;
  }
  void indices(std::int64_t, std::int64_t first, std::span<std::int64_t> out) const override {
    asked_->ask();
    for (std::int64_t& index : out)
      index = first++;
  }
  bool exactly_once() const noexcept override { return true; }
  std::uint64_t seed() const noexcept override { return 0; }
  std::string describe() const override { return "asking"; }

 private:
  std::int64_t records_;
  std::shared_ptr<Asked> asked_;
};

struct AskingOrder {
  std::shared_ptr<Asked> asked;
  std::shared_ptr<const IndexStream> bind(std::int64_t records) const {
    return std::make_shared<AskingStream>(records, asked);
  }
};

class AskingSource final : public TableSource {
 public:
  AskingSource(TableOptions options, std::shared_ptr<Asked> asked)
      : TableSource(options), asked_(std::move(asked)) {}
  std::size_t working_bytes(std::int64_t index) const override {
    asked_->ask();
    return TableSource::working_bytes(index);
  }
  std::string origin(std::int64_t index) const override {
    asked_->ask();
    return TableSource::origin(index);
  }

 private:
  std::shared_ptr<Asked> asked_;
};

/// A tensor over somebody else's memory, whose keeper calls `at_end` when its last reference dies.
Tensor kept_tensor(std::function<void()> at_end) {
  static std::uint8_t memory[TableSource::width] = {};
  std::shared_ptr<const void> keep(memory, [at_end = std::move(at_end)](const void*) { at_end(); });
  return Tensor::borrow(memory, DType::uint8, Shape{TableSource::width}, std::move(keep));
}

}  // namespace

TEST_CASE("an order and a source's estimates may ask the loader that asks them") {
  const Watchdog watchdog("an order that asks its loader");
  for (const bool fuse : {true, false}) {
    for (const bool blocking : {false, true}) {
      const auto asked = std::make_shared<Asked>();
      Loader loader = work_on(std::make_shared<AskingSource>(
                                  TableOptions{.records = 200, .blocking = blocking}, asked),
                              true)
                          .order(AskingOrder{asked})
                          .batch({.size = 8})
                          .build({.fuse = fuse, .runtime = Runtime({.threads = 2})});
      asked->loader = &loader;
      for (int epoch = 0; epoch < 3; ++epoch) {
        std::int64_t rows = 0;
        for (Batch& batch : loader.epoch(epoch)) {
          CHECK(indices_of(batch).front() == batch.number() * 8);
          rows += batch.size();
        }
        CHECK(rows == 200);
      }
      asked->loader = nullptr;
      CHECK(asked->times > 0);
    }
  }
}

TEST_CASE("a tensor that dies with an undelivered batch may call the loader") {
  const Watchdog watchdog("a deleter that asks its loader");
  const auto asked = std::make_shared<Asked>();
  Loader loader = work_on(table({.records = 200}), true)
                      .batch({.size = 8})
                      .then([asked](Batch& batch) {
                        batch.set("theirs", kept_tensor([asked] { asked->ask(); }));
                      })
                      .build({.runtime = Runtime({.threads = 2})});
  asked->loader = &loader;
  for (int epoch = 0; epoch < 50; ++epoch) {
    for (Batch& batch : loader.epoch(epoch))
      if (batch.number() == epoch % 3) break;
  }
  asked->loader = nullptr;
  CHECK(asked->times > 50);
}

TEST_CASE("a tensor of a sample may call the loader when it dies, also while the loader rests") {
  const Watchdog watchdog("a sample's deleter that asks its loader");
  for (const bool blocking : {false, true}) {
    const auto asked = std::make_shared<Asked>();
    Loader loader = work_on(table({.records = 64, .blocking = blocking}), true)
                        .then([asked](Sample& sample) {
                          sample.set("theirs", kept_tensor([asked] { asked->ask(); }));
                        })
                        .batch({.size = 8})
                        .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
    asked->loader = &loader;
    for (int epoch = 0; epoch < 5; ++epoch) {
      for (Batch& batch : loader.epoch(epoch))
        CHECK(batch.size() == 8);
    }
    asked->loader = nullptr;
    CHECK(asked->times > 0);
  }
}

namespace {

/// A batch that a batch step and the trainer share: leaving an epoch does not wait for a step that
/// runs.
class SharedBatch {
 public:
  Batch exchange(Batch batch) {
    const std::lock_guard lock(mutex_);
    return std::exchange(batch_, std::move(batch));
  }

 private:
  std::mutex mutex_;
  Batch batch_;
};

}  // namespace

TEST_CASE("an undelivered batch may hold an earlier one of its loader") {
  const Watchdog watchdog("a batch that holds an earlier one");
  const auto earlier = std::make_shared<SharedBatch>();
  Loader loader = work_on(table({.records = 200}), true)
                      .batch({.size = 8})
                      .then([earlier](Batch& batch) {
                        if (batch.number() % 4 == 0) earlier->exchange(batch);
                        if (batch.number() % 4 != 1) return;
                        auto held = std::make_shared<Batch>(earlier->exchange({}));
                        batch.set("before", kept_tensor([held] {}));
                      })
                      .build({.prefetch = 6, .runtime = Runtime({.threads = 2})});
  for (int epoch = 0; epoch < 50; ++epoch) {
    std::int64_t number = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      CHECK(batch.number() == number++);
      if (number == 1 + epoch % 3) break;
    }
    earlier->exchange({});
  }
}

TEST_CASE("a batch that a step keeps stays as it was, though its epoch was left") {
  const Watchdog watchdog("a batch that a step keeps");
  for (int round = 0; round < 20; ++round) {
    const auto kept = std::make_shared<Batch>();
    std::string bytes;
    std::atomic<bool> has_it{false};
    Loader loader = work_on(table({.records = 400}), true)
                        .batch({.size = 8})
                        .then([&, kept](Batch& batch) {
                          if (batch.epoch() != 0 || batch.number() != 2) return;
                          *kept = batch;
                          bytes = bytes_of(batch);
                          has_it = true;
                        })
                        .build({.runtime = Runtime({.threads = 2})});
    {
      const Epoch epoch = loader.epoch(0);
      CHECK(loader.next().batch.number() == 0);
      REQUIRE(eventually([&] { return has_it.load(); }));
      std::this_thread::sleep_for(1ms);
    }
    for (int epoch = 1; epoch < 4; ++epoch) {
      for (Batch& batch : loader.epoch(epoch))
        CHECK(batch.size() == 8);
    }
    CHECK(bytes_of(*kept) == bytes);
  }
}

namespace {

/// An error that holds what `at_end` is called for when its last reference dies.
struct HoldingError : std::runtime_error {
  explicit HoldingError(std::function<void()> at_end)
      : std::runtime_error("it holds"), held(kept_tensor(std::move(at_end))) {}
  Tensor held;
};

}  // namespace

TEST_CASE("what an error holds may call the loader, also where a budget's error takes its place") {
  const Watchdog watchdog("an error that asks the loader");
  for (const int most : {-1, 0}) {
    const auto asked = std::make_shared<Asked>();
    const auto source = table({.records = 64}, [asked](std::int64_t index) {
      if (index == 12) throw HoldingError([asked] { asked->ask(); });
    });
    Loader loader = work_on(source, true)
                        .batch({.size = 8})
                        .on_bad_sample({.most = most})
                        .build({.runtime = Runtime({.threads = 2})});
    asked->loader = &loader;
    CHECK_THROWS_AS(
        [&] {
          for (Batch& batch : loader.epoch(0))
            CHECK(batch.size() == 8);
        }(),
        Error);
    CHECK(asked->times == 1);
    asked->loader = nullptr;
  }
}

namespace {

/// Asks a loader of its own for a batch in every call.
struct Nested {
  std::shared_ptr<Loader> inner;
  void operator()(Sample&) const { static_cast<void>(inner->next()); }
};

std::shared_ptr<Loader> inner_on(const Runtime& runtime) {
  return std::make_shared<Loader>(work_on(table({.records = 64}), true)
                                      .named("inner")
                                      .batch({.size = 4})
                                      .build({.runtime = runtime}));
}

}  // namespace

TEST_CASE("a loader that is asked inside another of its runtime says so instead of hanging") {
  const Watchdog watchdog("a loader inside another");
  for (const int threads : {1, 2, 8}) {
    for (const bool blocking : {false, true}) {
      const Runtime runtime({.threads = threads, .io_threads = 1});
      Loader outer = work_on(table({.records = 64, .blocking = blocking}), true)
                         .then(Nested{inner_on(runtime)})
                         .batch({.size = 8})
                         .build({.runtime = runtime});
      CHECK_THROWS_WITH_AS(outer.next(),
                           doctest::Contains("[inner] next() was called by a source or step on a "
                                             "thread of the loader's own runtime"),
                           DataError);
    }
  }
}

TEST_CASE("a loader that a source asks on an I/O thread of its runtime says so, too") {
  const Watchdog watchdog("a loader inside a source");
  const Runtime runtime({.threads = 2, .io_threads = 1});
  const auto inner = inner_on(runtime);
  Loader outer = work_on(table({.records = 64, .blocking = true},
                               [inner](std::int64_t) { static_cast<void>(inner->next()); }),
                         true)
                     .batch({.size = 8})
                     .build({.runtime = runtime});
  CHECK_THROWS_WITH_AS(outer.next(), doctest::Contains("give this loader a Runtime of its own"),
                       DataError);
}

TEST_CASE("a source of one runtime may read from a loader of another") {
  const Watchdog watchdog("a loader inside another runtime's");
  const auto inner = inner_on(Runtime({.threads = 1}));
  std::mutex mutex;
  std::int64_t rows = 0;
  Loader outer = work_on(table({.records = 64}), true)
                     .then([&](Sample&) {
                       const std::lock_guard lock(mutex);
                       const NextBatch got = inner->next();
                       if (got.status == NextBatch::Status::ready) rows += got.batch.size();
                     })
                     .batch({.size = 8})
                     .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  for (Batch& batch : outer.epoch(0))
    CHECK(batch.size() == 8);
  CHECK(rows > 0);
}
