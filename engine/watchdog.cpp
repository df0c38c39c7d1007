#include <headrace/engine/watchdog.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include <headrace/engine/detail/watchdog.h>
#include <headrace/engine/error.h>

#include <pthread.h>

namespace headrace::inline v1 {

namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string thread_name(const detail::Plan& plan, int slot) {
  const int workers = plan.runtime.threads();
  return slot < workers ? "headrace-" + std::to_string(slot)
                        : "headrace-io-" + std::to_string(slot - workers);
}

Origin origin_of(const detail::Activity::State& state) {
  Origin origin;
  origin.index = state.index;
  origin.epoch = state.epoch;
  origin.position = state.position;
  origin.batch = state.batch;
  origin.row = state.row;
  return origin;
}

/// File and part, left out where the source cannot say them.
void ask(const Source& source, Origin& origin) {
  if (origin.index < 0) return;
  try {
    origin.part = source.part(origin.index);
    origin.file = source.origin(origin.index);
  } catch (...) {
    return;
  }
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

void WatchList::add(const Entry& entry) {
  std::lock_guard lock(mutex_);
  entries_.push_back(entry);
}

void WatchList::remove(const Recorder* recorder) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.recorder == recorder; });
}

std::int64_t WatchList::moves() const {
  std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const Entry& entry : entries_) {
    for (int slot = 0; slot < entry.recorder->slots(); ++slot)
      sum += entry.recorder->activity(slot).moves();
  }
  return sum;
}

bool WatchList::busy(const Recorder& recorder) const {
  for (int slot = 0; slot < recorder.slots(); ++slot)
    if (recorder.activity(slot).state().stage >= 0) return true;
  return false;
}

std::vector<HangReport::InStage> WatchList::stages() const {
  // A loader may end while its source is asked, which is the user's code and may take any lock.
  std::vector<std::shared_ptr<const Source>> sources;
  std::vector<HangReport::InStage> all = stages_of_all(sources);
  for (std::size_t i = 0; i < all.size(); ++i)
    ask(*sources[i], all[i].sample);
  return all;
}

std::vector<HangReport::InStage> WatchList::stages_of_all(
    std::vector<std::shared_ptr<const Source>>& sources) const {
  std::lock_guard lock(mutex_);
  std::vector<HangReport::InStage> all;
  for (const Entry& entry : entries_) {
    for (int slot = 0; slot < entry.recorder->slots(); ++slot) {
      const Activity::State state = entry.recorder->activity(slot).state();
      if (state.stage < 0) continue;
      all.push_back({.thread = thread_name(*entry.plan, slot),
                     .loader = entry.plan->recipe.name,
                     .stage = entry.plan->stages[static_cast<std::size_t>(state.stage)].name,
                     .sample = origin_of(state)});
      sources.push_back(entry.plan->recipe.source);
    }
  }
  return all;
}

Watchdog::Watchdog(const Plan& plan, const Recorder& recorder, const WatchList& list,
                   std::function<bool()> waits)
    : plan_(plan),
      recorder_(recorder),
      list_(list),
      waits_(std::move(waits)),
      period_(std::clamp<std::chrono::nanoseconds>(
          plan.options.watchdog.after / 8, std::chrono::milliseconds(1), std::chrono::seconds(5))) {
  try {
    thread_ = std::thread([this] { live(); });
  } catch (const std::system_error& error) {
    throw ResourceError("[" + plan.recipe.name +
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
  if (moves != moves_ || !(list_.busy(recorder_) || waits_())) {
    moves_ = moves;
    still_ = std::chrono::nanoseconds(0);
    told_ = false;
    return;
  }
  still_ += passed;
  if (still_ < plan_.options.watchdog.after || told_) return;
  told_ = true;
  report();
}

void Watchdog::report() {
  HangReport report{.loader = plan_.recipe.name,
                    .seconds = std::chrono::duration<double>(still_).count(),
                    .consumer_waits = waits_(),
                    .stages = list_.stages()};
  for (HangReport::InStage& each : report.stages)
    each.seconds = report.seconds;
  if (plan_.options.watchdog.action) return plan_.options.watchdog.action(report);
  if (plan_.options.log) plan_.options.log(LogLevel::warning, to_string(report));
}

}  // namespace detail
}  // namespace headrace::inline v1
