#include <headrace/engine/base/bounded_wait.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/monitor/system/detail/watch_pace.h>
#include <headrace/monitor/system/system_watch.h>

#include <condition_variable>
#include <ctime>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <pthread.h>

namespace headrace::inline v1::monitor {
namespace {

constexpr double busy_machine = 0.70;
constexpr std::chrono::milliseconds shortest_interval{50};  // over less, ticks of 10 ms say nothing

double thread_cpu_s() {
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0.0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

SystemWatchOptions checked(SystemWatchOptions options) {
  if (options.period.count() <= 0) {
    throw ConfigError(
        fmt::format("[system watch] period must be above 0 ms, got {} ms", options.period.count()));
  }
  if (!(options.most_share > 0.0)) {
    throw ConfigError(
        fmt::format("[system watch] share of a core must be above 0, got {}", options.most_share));
  }
  return options;
}

}  // namespace

/// What a forked process leaves as it is.
struct SystemWatch::Thread {
  explicit Thread(const SystemSamplerOptions& options) : sampler(options) {}

  headrace::detail::HomeProcess home{};
  SystemSampler sampler;
  std::condition_variable_any wake{};
  std::jthread thread{};
};

SystemWatch::SystemWatch(SystemWatchOptions options)
    : options_(checked(std::move(options))),
      pace_(std::make_unique<detail::WatchPace>(
          std::chrono::duration<double>(options_.period).count(), options_.most_share)),
      thread_(std::make_unique<Thread>(options_.sampler)) {
  thread_->thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SystemWatch::~SystemWatch() {
  if (thread_->home.left()) {
    static_cast<void>(thread_.release());
    return;
  }
  thread_->thread.request_stop();
  thread_->thread.join();
}

void SystemWatch::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "hr-system");
  std::mutex sleeping;
  std::unique_lock lock(sleeping);
  double wait_s = std::chrono::duration<double>(options_.period).count();
  begin();
  for (bool last = false; !last;) {
    thread_->wake.wait_for(lock, stop, bounded_wait(std::chrono::duration<double>(wait_s)),
                           [] { return false; });
    last = stop.stop_requested();
    if (last) std::this_thread::sleep_until(sampled_at_ + shortest_interval);
    try {
      wait_s = look(last);
    } catch (...) {
      continue;
    }
  }
}

// Opens drivers and makes what the first sample is compared with. That happens once: the pace is
// told of the scan alone.
void SystemWatch::begin() {
  try {
    SystemSample sample = thread_->sampler.sample();
    sampled_at_ = Clock::now();
    const double sampled = thread_cpu_s();
    thread_->sampler.add_busiest(sample);
    cpu_s_ = thread_cpu_s();
    pace_->scanned(cpu_s_ - sampled);
  } catch (...) {
    return;
  }
}

double SystemWatch::look(bool last) {
  const double before = thread_cpu_s();
  SystemSample sample = thread_->sampler.sample();
  sampled_at_ = Clock::now();
  const double sampled = thread_cpu_s();
  if (last || pace_->may_scan(sample.machine_share > busy_machine)) {
    thread_->sampler.add_busiest(sample);
    pace_->scanned(thread_cpu_s() - sampled);
  }
  const double scanned = thread_cpu_s();
  publish(sample);
  cpu_s_ = thread_cpu_s();
  return pace_->looked(sampled - before + (cpu_s_ - scanned), sample.interval_s);
}

void SystemWatch::publish(const SystemSample& sample) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<ProcessUsage> known;
    if (last_ && sample.busiest.empty()) known = std::move(last_->busiest);
    last_ = sample;
    if (!known.empty()) last_->busiest = std::move(known);
  }
  if (!options_.on_sample) return;
  try {
    options_.on_sample(sample);
  } catch (...) {
    return;
  }
}

std::optional<SystemSample> SystemWatch::last() const {
  thread_->home.require("[system watch] it");
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace headrace::inline v1::monitor
