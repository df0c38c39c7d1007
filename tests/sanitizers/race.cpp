// Loaders in all their forms whose operation counts samples: on an atomic, or, with
// HEADRACE_PLANT_RACE, on a plain integer that all workers share. ThreadSanitizer must be silent on
// the first and find the second, at the one line that counts.
#include <headrace/engine/headrace.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

namespace {

constexpr std::int64_t samples = 4'000;

class Numbers final : public headrace::Source {
 public:
  explicit Numbers(bool blocking) : blocking_(blocking) {}
  std::string name() const override { return "numbers"; }
  std::int64_t size() const override { return samples; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("number", headrace::DType::int64, {})};
  }
  bool blocking() const override { return blocking_; }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    sample.set_scalar("number", index);
  }

 private:
  bool blocking_;
};

#ifdef HEADRACE_PLANT_RACE
using Counter = std::int64_t;
#else
using Counter = std::atomic<std::int64_t>;
#endif

struct Count {
  Counter* seen;
  void operator()(headrace::Sample&) const { ++*seen; }
};

void random_step(headrace::Sample& sample, headrace::Random& random) {
  const auto old = sample["number"].item<std::int64_t>();
  sample.set_scalar<std::int64_t>("number", old + random.below(1));
}

std::int64_t sum_of(const headrace::Batch& batch) {
  std::int64_t sum = 0;
  for (const std::int64_t number : batch["number"].values<std::int64_t>())
    sum += number;
  return sum;
}

/// One epoch whose batches are read and dropped on other threads, an epoch left early, and one of a
/// loader that is destroyed at work.
std::int64_t run(const headrace::Runtime& runtime, bool fuse, bool blocking, Counter& seen) {
  auto loader = headrace::Pipeline::from(Numbers(blocking))
                    .order(headrace::Shuffled{.seed = 1})
                    .then(Count{&seen})
                    .then(random_step, {.name = "draw", .limit = fuse ? 0 : 2})
                    .batch({.size = 64})
                    .build({.loans = 3, .fuse = fuse, .runtime = runtime});
  std::atomic<std::int64_t> sum{0};
  {
    std::jthread reader;
    for (headrace::Batch& batch : loader.epoch(0)) {
      reader = std::jthread([&sum, held = std::move(batch)] { sum += sum_of(held); });
    }
  }
  for (headrace::Batch& batch : loader.epoch(1)) {
    if (batch.number() == 3) break;
  }
  loader.next();
  return sum;
}

}  // namespace

int main() {
  Counter seen{0};
  const headrace::Runtime runtime({.threads = 4, .io_threads = 2});
  for (bool fuse : {true, false}) {
    for (bool blocking : {true, false}) {
      const std::int64_t sum = run(runtime, fuse, blocking, seen);
      std::printf("%lld\n", static_cast<long long>(sum));
      if (sum != samples * (samples - 1) / 2) return 1;
    }
  }
  return 0;
}
