#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/wrapped_source.h>
#include <headrace/engine/batch/batch.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;

// The kernel's timers are about 60 microseconds coarse.
constexpr std::chrono::nanoseconds shortest_sleep = std::chrono::microseconds(500);

/// Lets this much time pass: asleep where that is precise enough, else on the processor.
void pass_time(Duration delay, std::int64_t times = 1) {
  const std::chrono::nanoseconds time{static_cast<std::int64_t>(delay.seconds * 1e9) * times};
  if (time >= shortest_sleep) {
    std::this_thread::sleep_for(time);
    return;
  }
  const Clock::time_point end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

struct AugmentDelay {
  Duration time;
  std::string name() const { return "augment delay"; }
  void operator()(Sample&) const { pass_time(time); }
};

struct TransferDelay {
  Duration time;
  std::string name() const { return "transfer delay"; }
  void operator()(Batch&) const { pass_time(time); }
};

template <class Step>
Pipeline slowed(Pipeline pipeline, Step step) {
  if (!(step.time.seconds > 0.0)) return pipeline;
  return std::move(pipeline).then(std::move(step));
}

class SlowSource final : public WrappedSource {
 public:
  SlowSource(std::shared_ptr<const Source> source, const PlantedDelays& delay)
      : WrappedSource(std::move(source)), time_(delay.read), every_(delay.read_every) {}

  std::string name() const override { return source().name() + " with a planted delay"; }
  void read(std::int64_t index, Sample& sample) const override {
    if (is_slow(index)) pass_time(time_);
    source().read(index, sample);
  }
  bool blocking() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    pass_time(time_, std::ranges::count_if(indices,
                                           [this](std::int64_t index) { return is_slow(index); }));
    source().gather(indices, rows);
  }

 private:
  bool is_slow(std::int64_t index) const { return index % every_ == 0; }

  Duration time_;
  int every_;
};

}  // namespace

void DecodeDelay::operator()(Sample&) const {
  pass_time(time);
}

std::shared_ptr<const Source> slow_read(std::shared_ptr<const Source> source,
                                        const PlantedDelays& delay) {
  if (!(delay.read.seconds > 0.0)) return source;
  return std::make_shared<SlowSource>(std::move(source), delay);
}

Pipeline slow_decode(Pipeline pipeline, Duration delay) {
  return slowed(std::move(pipeline), DecodeDelay{delay});
}

Pipeline slow_augment(Pipeline pipeline, Duration delay) {
  return slowed(std::move(pipeline), AugmentDelay{delay});
}

Pipeline slow_transfer(Pipeline pipeline, Duration delay) {
  return slowed(std::move(pipeline), TransferDelay{delay});
}

}  // namespace headrace::inline v1::app
