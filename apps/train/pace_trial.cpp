#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/train/pace_trial.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/process_memory.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr double warmup_share = 0.2;  // of the trial's seconds
constexpr double most_stretch = 3.0;  // a window may grow to so many times its seconds

constexpr std::array<std::pair<PaceInput, std::string_view>, 3> words{
    {{PaceInput::device_only, "device"},
     {PaceInput::memory, "memory"},
     {PaceInput::storage, "storage"}}};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::string_view to_string(PaceInput input) {
  for (const auto& [known, word] : words)
    if (known == input) return word;
  return "unknown";
}

std::optional<PaceInput> parse_pace_input(std::string_view word) {
  for (const auto& [input, known] : words)
    if (known == word) return input;
  return std::nullopt;
}

monitor::HostFacts PaceResult::host() const {
  return {.usable_cores = cores,
          .process_cpu_share = process_share,
          .io_pressure_share = io_pressure.value_or(-1.0)};
}

monitor::Verdict PaceResult::verdict() const {
  if (stage.empty()) return monitor::judge(monitor::loader_load(stats), host());
  return monitor::judge(budget, monitor::loader_load(stats), host());
}

PaceWindow::PaceWindow(const PaceOptions& options, std::size_t warmup_steps, bool on_gpu)
    : options_(options),
      warmup_steps_(warmup_steps),
      on_gpu_(on_gpu),
      meter_({.warmup_steps = 0, .warmup_s = 0.0, .on_gpu = on_gpu}) {}

void PaceWindow::begin() {
  began_ = true;
  began_at_ = Clock::now();  // what follows is time of the first step
  if (loader_ != nullptr) {
    first_batch_s_ = loader_->stats().first_batch_s;
    loader_->reset_stats();
  }
  cpu_.sample();
}

// Some microseconds, and not at each of many short steps.
void PaceWindow::look() {
  constexpr double every_s = 0.05;
  if (seconds_since(looked_at_) < every_s) return;
  looked_at_ = Clock::now();
  peak_held_ = std::max(peak_held_, monitor::read_process_memory().held());
}

bool PaceWindow::add(const monitor::StepTimes& times, std::int64_t samples) {
  look();
  if (!began_) {
    warmup_.push_back({.times = times, .samples = samples});
    warmup_s_ += times.wall_s;
    const bool warm =
        warmup_.size() >= warmup_steps_ && warmup_s_ >= warmup_share * options_.seconds;
    if (warm || (warmup_s_ >= options_.seconds && warmup_.size() > 1)) begin();
    return false;
  }
  meter_.add(times);
  ++steps_;
  samples_ += samples;
  window_s_ += times.wall_s;
  const double stretched = most_stretch * options_.seconds;
  return window_s_ >= (steps_ >= options_.least_steps ? options_.seconds : stretched);
}

void PaceWindow::finish(PaceResult& result) {
  const monitor::CpuUsage usage = cpu_.sample();
  result.window_s = seconds_since(began_at_);
  const bool cut_short = steps_ == 0;
  if (cut_short) {
    for (std::size_t i = warmup_.size() > 1 ? 1 : 0; i < warmup_.size(); ++i) {
      meter_.add(warmup_[i].times);
      samples_ += warmup_[i].samples;
    }
  }
  result.budget = meter_.summary();
  result.budget.on_gpu = on_gpu_;
  result.budget.skipped_steps =
      cut_short ? std::min<std::size_t>(1, warmup_.size()) : warmup_.size();
  result.budget.warmup_cut_short = cut_short;
  result.samples = samples_;
  if (loader_ != nullptr) {
    result.stats = loader_->stats();
    result.first_batch_s = began_ ? first_batch_s_ : result.stats.first_batch_s;
    result.samples_per_epoch = loader_->samples_per_epoch();
  }
  result.cores = monitor::usable_cores();
  result.process_cores = usage.process_cores;
  result.process_share = usage.process_share;
  result.io_pressure = usage.io_pressure_share;
  result.peak_held = std::max(peak_held_, monitor::read_process_memory().held());
}

bool reads_twice(const PaceOptions& options) {
  if (options.input == PaceInput::device_only) return false;
  return options.input == PaceInput::memory || !caches_in_use().empty();
}

void between_epochs(const PaceOptions& options) {
  if (options.input == PaceInput::storage && options.before_reading) options.before_reading();
}

std::optional<std::int64_t> warm_up(Loader& loader, const PaceOptions& options,
                                    std::int64_t batches) {
  const auto start = std::chrono::steady_clock::now();
  std::int64_t taken = 0;
  const std::int64_t all = loader.batches_per_epoch();
  while (taken < all) {
    const double seconds = (taken >= batches ? 1.0 : most_stretch) * options.seconds;
    if (seconds_since(start) >= seconds) return taken;
    if (loader.next().status != NextBatch::Status::ready) break;
    ++taken;
  }
  return std::nullopt;
}

}  // namespace headrace::inline v1::app
