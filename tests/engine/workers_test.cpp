#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <pthread.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// Opens when `wanted` threads are inside at once.
class Meeting {
 public:
  explicit Meeting(int wanted) : wanted_(wanted) {}
  bool enter() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    return changed_.wait_for(lock, 60s, [this] { return inside_ >= wanted_; });
  }

 private:
  int wanted_;
  int inside_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

TEST_CASE("batches of one sample keep eight workers busy at once") {
  Watchdog watchdog("eight samples at once");
  for (bool fuse : {true, false}) {
    Meeting meeting(8);
    std::atomic<int> failed = 0;
    Loader loader = Pipeline::from(table({.records = 64}))
                        .then([&](Sample&) { failed += meeting.enter() ? 0 : 1; })
                        .batch({.size = 1})
                        .build({.prefetch = 1, .fuse = fuse, .runtime = Runtime({.threads = 8})});
    CHECK(stream_of(loader, 0, 1).rows.size() == 64);
    CHECK(failed == 0);
  }
}

TEST_CASE("a step with a limit is never entered by more threads than it allows") {
  Watchdog watchdog("limits");
  for (int limit : {1, 3}) {
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    std::atomic<int> failed = 0;
    Meeting meeting(std::min(limit, 2));
    Loader loader = Pipeline::from(table({.records = 128}))
                        .then(Sum{})
                        .then(
                            [&](Sample&) {
                              const int now = ++inside;
                              int seen = most;
                              while (now > seen && !most.compare_exchange_weak(seen, now)) {
                              }
                              failed += meeting.enter() ? 0 : 1;
                              std::this_thread::sleep_for(300us);
                              --inside;
                            },
                            {.name = "narrow", .limit = limit})
                        .then(Jitter{})
                        .batch({.size = 4})
                        .build({.runtime = Runtime({.threads = 8})});
    CHECK(stream_of(loader, 0, 1).rows.size() == 128);
    CHECK(most <= limit);
    CHECK(failed == 0);
    CHECK(most >= std::min(limit, 2));
  }
}

TEST_CASE("twin: without a limit more than three threads are inside") {
  Watchdog watchdog("no limit");
  Meeting meeting(4);
  std::atomic<int> failed = 0;
  Loader loader = Pipeline::from(table({.records = 128}))
                      .then([&](Sample&) { failed += meeting.enter() ? 0 : 1; })
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = 8})});
  CHECK(stream_of(loader, 0, 1).rows.size() == 128);
  CHECK(failed == 0);
}

TEST_CASE("each worker has an operation of its own that no two threads use at once") {
  Watchdog watchdog("per worker state");
  struct Shared {
    std::atomic<int> made{0};
    std::atomic<int> clashes{0};
  };
  auto shared = std::make_shared<Shared>();
  struct Counter {
    std::shared_ptr<Shared> shared;
    std::shared_ptr<std::atomic<int>> inside = std::make_shared<std::atomic<int>>(0);
    void operator()(Sample&) {
      if (inside->fetch_add(1) != 0) ++shared->clashes;
      std::this_thread::sleep_for(100us);
      inside->fetch_sub(1);
    }
  };
  const Runtime runtime({.threads = 8});
  for (bool fuse : {true, false}) {
    Loader loader = Pipeline::from(table({.records = 256}))
                        .then(per_worker([shared] {
                          ++shared->made;
                          return Counter{shared};
                        }))
                        .then(Sum{})
                        .batch({.size = 4})
                        .build({.fuse = fuse, .runtime = runtime});
    CHECK(stream_of(loader, 0, 1).rows.size() == 256);
  }
  CHECK(shared->clashes == 0);
  CHECK(shared->made >= 2);
  CHECK(shared->made <= 2 * (8 + 1));
}

TEST_CASE("a step with a limit keeps it for replaced samples too") {
  Watchdog watchdog("limits and replacements");
  std::atomic<int> inside = 0;
  std::atomic<int> clashes = 0;
  Loader loader = Pipeline::from(table({.records = 200}))
                      .then(
                          [&](Sample&) {
                            if (++inside > 1) ++clashes;
                            std::this_thread::sleep_for(200us);
                            --inside;
                          },
                          {.name = "narrow", .limit = 1})
                      .then([](Sample& sample) {
                        if (sample.origin().index % 2 == 0) throw DataError("even");
                      })
                      .on_bad_sample({.rule = BadSamples::Rule::replace, .attempts = 60})
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 8})});
  CHECK(stream_of(loader, 0, 1).rows.size() == 200);
  CHECK(clashes == 0);
}

TEST_CASE("no thread but the runtime's own ever runs a step, however often loaders come and go") {
  Watchdog watchdog("threads that run steps");
  for (int threads : {1, 2, 8}) {
    const Runtime runtime({.threads = threads});
    std::mutex mutex;
    std::set<std::string> names;
    std::set<std::thread::id> ids;
    for (std::int64_t k = 0; k < scaled(100, 10); ++k) {
      Loader loader = Pipeline::from(table({.records = 64}))
                          .then([&](Sample&) {
                            char name[16] = {};
                            pthread_getname_np(pthread_self(), name, sizeof(name));
                            std::lock_guard lock(mutex);
                            names.insert(name);
                            ids.insert(std::this_thread::get_id());
                          })
                          .batch({.size = 4})
                          .build({.runtime = runtime});
      for (Batch& batch : loader.epoch(0))
        if (batch.number() == k % 16) break;
    }
    CHECK(std::ssize(ids) <= threads);
    for (const std::string& name : names)
      CHECK_MESSAGE(name.starts_with("headrace-"), name);
  }
}
