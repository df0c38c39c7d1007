#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/internal/watchdog.h>
#include <headrace/engine/runtime/watchdog.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace headrace::inline v1 {

namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace

std::string to_string(const HangReport& report) {
  std::string text = "[" + report.loader + "] no stage has finished anything for " +
                     seconds_text(report.seconds) +
                     (report.consumer_waits ? ", and the trainer waits" : "");
  for (const HangReport::InStage& each : report.stages) {
    const Origin& sample = each.sample;
    text += "\n  " + each.thread + " is in stage \"" + each.stage + "\" of loader \"" +
            each.loader + "\", " + to_string(sample) + ", batch " + std::to_string(sample.batch);
    if (sample.row >= 0) text += ", row " + std::to_string(sample.row);
    if (each.seconds > 0) text += ", for " + seconds_text(each.seconds);
  }
  if (report.stages.empty()) text += "\n  no thread of its runtime is in a stage";
  return text;
}

namespace detail {

Watchdog::Watchdog(WatchedLoader loader, WatchdogOptions options, const WatchList& list,
                   std::function<bool()> waits)
    : loader_(std::move(loader)),
      options_(std::move(options)),
      list_(list),
      waits_(std::move(waits)),
      period_(std::clamp<std::chrono::nanoseconds>(options_.after / 8, std::chrono::milliseconds(1),
                                                   std::chrono::seconds(5))) {
  try {
    thread_ = std::thread([this] { live(); });
  } catch (const std::system_error& error) {
    throw ResourceError("[" + loader_.name +
                        "] a thread for the watchdog is needed, the system gave none (" +
                        error.what() + "); raise the limit of threads, or leave the watchdog out");
  }
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::live() {
  pthread_setname_np(pthread_self(), "headrace-watch");
  using Clock = std::chrono::steady_clock;
  Clock::time_point before = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period_, [this] { return stopping_; })) {
    lock.unlock();
    const Clock::time_point now = Clock::now();
    // A process that was stopped has not stood still by itself.
    look(std::min<std::chrono::nanoseconds>(now - before, 2 * period_));
    before = now;
    lock.lock();
  }
}

void Watchdog::look(std::chrono::nanoseconds passed) {
  const std::int64_t moves = list_.moves();
  if (moves != moves_ || !(list_.busy(*loader_.recorder) || waits_())) {
    moves_ = moves;
    still_ = std::chrono::nanoseconds(0);
    told_ = false;
    return;
  }
  still_ += passed;
  if (still_ < options_.after || told_) return;
  told_ = true;
  report();
}

void Watchdog::report() {
  HangReport report{.loader = loader_.name,
                    .seconds = std::chrono::duration<double>(still_).count(),
                    .consumer_waits = waits_(),
                    .stages = list_.stages()};
  for (HangReport::InStage& each : report.stages)
    each.seconds = report.seconds;
  options_.action(report);
}

}  // namespace detail
}  // namespace headrace::inline v1
