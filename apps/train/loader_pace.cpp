#include <headrace/apps/train/loader_pace.h>
#include <headrace/monitor/step_clock.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <thread>

namespace headrace::inline v1::app {
namespace {

// Until the window has enough, or `most` batches were taken; `between` epochs time stands still.
void take_batches(Loader& loader, PaceWindow& window, std::int64_t most, double step_s,
                  const std::function<void()>& between) {
  monitor::StepClock clock;
  for (std::int64_t taken = 0; taken < most;) {
    clock.enter(monitor::StepPart::data_wait);
    const NextBatch next = loader.next();
    if (next.status != NextBatch::Status::ready) {
      between();
      clock.restart();
      continue;
    }
    ++taken;
    clock.enter(monitor::StepPart::compute);
    if (step_s > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(step_s));
    clock.enter(monitor::StepPart::other);
    if (window.add(clock.end_step(), next.batch.size())) return;
  }
}

}  // namespace

PaceResult pace_of_loader(const LoaderJob& job, const PaceOptions& options) {
  PaceResult result{.input = options.input};
  const auto start = std::chrono::steady_clock::now();
  Loader loader = job.build();
  result.open_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.before_reading) options.before_reading();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t warmup = job.options.prefetch + 1;
  if (reads_twice(options)) {
    const Position first = loader.position();
    most = warm_up(loader, options, options.least_steps + warmup).value_or(most);
    loader.seek(first);
  }
  between_epochs(options);
  PaceWindow window(options, static_cast<std::size_t>(warmup), false);
  window.watch(&loader);
  take_batches(loader, window, most, job.consumer_delay_s, [&] { between_epochs(options); });
  window.finish(result);
  return result;
}

}  // namespace headrace::inline v1::app
