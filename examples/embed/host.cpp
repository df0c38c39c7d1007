#include "host.h"

#include <headrace/engine/headrace.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>

namespace embed {
namespace {

struct Meeting {
  std::mutex mutex;
  std::condition_variable all_here;
  int inside = 0;
  bool met = false;
};

// Holds its sample until `wanted` samples are held, or for so long.
struct Meet {
  std::shared_ptr<Meeting> meeting;
  int wanted = 0;
  double seconds = 0.0;

  void operator()(headrace::Sample&) const {
    std::unique_lock lock(meeting->mutex);
    if (++meeting->inside == wanted) {
      meeting->met = true;
      meeting->all_here.notify_all();
    }
    meeting->all_here.wait_for(lock, std::chrono::duration<double>(seconds),
                               [&] { return meeting->met; });
    --meeting->inside;
  }
};

struct Numbers : headrace::Source {
  std::string name() const override { return "numbers"; }
  std::int64_t size() const override { return 64; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("n", headrace::DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    sample.set_scalar("n", index);
  }
};

}  // namespace

bool samples_meet(int workers, int wanted, double seconds) {
  const auto meeting = std::make_shared<Meeting>();
  headrace::Loader loader =
      headrace::Pipeline::from(Numbers{})
          .then(Meet{meeting, wanted, seconds}, {.name = "meet"})
          .batch({.size = 1})
          .build({.prefetch = 16, .runtime = headrace::Runtime({.threads = workers})});
  if (!loader.next().batch) return false;
  const std::scoped_lock lock(meeting->mutex);
  return meeting->met;
}

bool samples_meet_beside_host(int workers, int wanted, double seconds) {
  using oneapi::tbb::global_control;
  const global_control limit(global_control::max_allowed_parallelism, 1);
  std::atomic<bool> stop{false};
  std::atomic<int> busy{0};
  std::atomic<int> most{0};
  // The host's own work goes on all the time, on the one thread that its limit leaves it.
  std::jthread host([&] {
    while (!stop) {
      oneapi::tbb::parallel_for(0, 100, [&](int) {
        const int now = ++busy;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        --busy;
      });
    }
  });
  while (most == 0)
    std::this_thread::yield();
  const bool met = samples_meet(workers, wanted, seconds);
  stop = true;
  host.join();
  if (most != 1 || global_control::active_value(global_control::max_allowed_parallelism) != 1) {
    throw std::runtime_error("the host's limit of one TBB thread was not kept");
  }
  return met;
}

}  // namespace embed
