#include <headrace/apps/backend/pace_trial.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/run/seconds_since.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr double warmup_share = 0.2;  // of the trial's seconds
constexpr double most_stretch = 3.0;  // a window may grow to so many times its seconds

constexpr std::array<std::pair<PaceInput, std::string_view>, 3> input_words{
    {{PaceInput::device_only, "device"},
     {PaceInput::memory, "memory"},
     {PaceInput::storage, "storage"}}};

// What a GPU says of its bus may take 40 ms of a step.
monitor::SystemSamplerOptions watched(bool on_gpu) {
  monitor::SystemSamplerOptions options{.pcie_every = 0};
  if (!on_gpu) options.nvml_library.clear();
  return options;
}

}  // namespace

std::string_view to_string(PaceInput input) {
  for (const auto& [known, word] : input_words)
    if (known == input) return word;
  return "unknown";
}

std::optional<PaceInput> parse_pace_input(std::string_view word) {
  for (const auto& [input, known] : input_words)
    if (known == word) return input;
  return std::nullopt;
}

monitor::MachineFacts PaceResult::machine() const {
  const bool from_storage = input == PaceInput::storage && cold;
  return {.samples = 1,
          .cores = cores,
          .machine_share = machine_share,
          .process_share = process_share,
          .io_pressure = from_storage ? io_pressure.value_or(-1.0) : -1.0,
          .read_per_s = read_per_s,
          .read_from_disk_per_s = read_from_disk_per_s,
          .others = others,
          .outside = outside};
}

monitor::Verdict PaceResult::verdict() const {
  const monitor::LoaderLoad load = monitor::loader_load(stats);
  monitor::Verdict verdict = stage.empty() ? monitor::judge(load) : monitor::judge(budget, load);
  verdict.advice.reset();
  return verdict;
}

PaceWindow::PaceWindow(const PaceOptions& options, std::size_t warmup_steps, bool on_gpu)
    : options_(options),
      warmup_steps_(warmup_steps),
      on_gpu_(on_gpu),
      meter_({.warmup_steps = 0, .warmup_s = 0.0, .on_gpu = on_gpu}),
      sampler_(watched(on_gpu)) {
  monitor::SystemSample first;
  sampler_.add_busiest(first);  // counts from here on
}

void PaceWindow::begin() {
  began_ = true;
  began_at_ = Clock::now();  // what follows is time of the first step
  if (loader_ != nullptr) {
    first_batch_s_ = loader_->stats().first_batch_s;
    loader_->reset_stats();
    threads_ = monitor::read_loader_threads();
  }
  sampler_.sample();
  sampled_at_ = Clock::now();
  reads_.begin();
}

// Some microseconds, and not at each of many short steps. A GPU tells of the moment alone.
void PaceWindow::look() {
  constexpr double every_s = 0.05;
  constexpr double sample_every_s = 0.5;
  if (seconds_since(looked_at_) < every_s) return;
  looked_at_ = Clock::now();
  peak_held_ = std::max(peak_held_, monitor::read_process_memory().held());
  if (!began_ || !on_gpu_ || seconds_since(sampled_at_) < sample_every_s) return;
  sampled_at_ = looked_at_;
  facts_.add(sampler_.sample());
}

void PaceWindow::add_machine(PaceResult& result) {
  monitor::SystemSample last = sampler_.sample();
  sampler_.add_busiest(last);
  facts_.add(last);
  const monitor::MachineFacts machine = *facts_.machine();
  result.cores = machine.cores;
  result.outside = machine.outside;
  result.process_share = std::min(1.0, machine.process_share);
  result.process_cores = machine.process_share * machine.cores;
  if (machine.io_pressure >= 0.0) result.io_pressure = machine.io_pressure;
  result.machine_share = machine.machine_share;
  result.read_per_s = machine.read_per_s;
  result.read_from_disk_per_s = machine.read_from_disk_per_s;
  result.others = machine.others;
  if (on_gpu_) result.gpu = facts_.gpu();
  result.open_files = last.tree.open_files;
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
  result.window_s = seconds_since(began_at_);
  add_machine(result);
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
    result.reads = reads_.facts();
    result.threads = monitor::loader_threads_since(threads_);
  }
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
