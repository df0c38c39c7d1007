#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/apps/run/stage_table.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/view/live_run.h>
#include <headrace/apps/view/write_run_trace.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/runtime/threads_at_work.h>
#include <headrace/engine/runtime/tracing.h>
#include <headrace/monitor/advice/verdict.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/system/cpu_usage.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_seconds;
using monitor::format_share;

std::string ago(std::int64_t ns) {
  return format_seconds(static_cast<double>(steady_ns() - ns) * 1e-9);
}

}  // namespace

LiveRun::LiveRun(bool on_gpu)
    : on_gpu_(on_gpu), since_ns_(steady_ns()), meter_({.on_gpu = on_gpu}) {}

void LiveRun::begin_fold(const FoldView& fold, Loader& loader) {
  if (trace_) trace_->begin();
  const std::lock_guard lock(mutex_);
  fold_ = fold;
  loader_ = &loader;
  step_.reset();
  meter_ = monitor::StepBudgetMeter({.on_gpu = on_gpu_});
  doing_ = "before the first step";
  since_ns_ = steady_ns();
}

void LiveRun::end_fold() {
  if (trace_) trace_->end();
  trace_.reset();
  const std::lock_guard lock(mutex_);
  loader_ = nullptr;
  doing_ = "behind the last step";
  since_ns_ = steady_ns();
}

void LiveRun::on_step(const StepFacts& step) {
  if (trace_) trace_->on_step(step);
  const std::int64_t now = steady_ns();
  const std::lock_guard lock(mutex_);
  if (doing_ != "training") {
    doing_ = "training";
    since_ns_ = now;
  }
  step_ = step;
  step_ns_ = now;
  meter_.add(step.times);
  if (track_) track_->add_step(step, now);
}

void LiveRun::on_train_epoch_end() {
  if (trace_) trace_->on_train_epoch_end();
  const std::int64_t now = steady_ns();
  const std::lock_guard lock(mutex_);
  doing_ = "evaluation or checkpoint, behind an epoch's steps";
  since_ns_ = now;
  if (track_) track_->end_steps(now);
}

void LiveRun::on_epoch() {
  const std::lock_guard lock(mutex_);
  meter_.next_epoch();
}

// The end of training was told of already.
void LiveRun::on_phase(RunPhase phase, std::int64_t epoch) {
  if (phase == RunPhase::training) return;
  if (trace_) trace_->on_phase(name_of(phase), epoch);
  const std::int64_t now = steady_ns();
  const std::lock_guard lock(mutex_);
  doing_ = std::string("behind ") + name_of(phase);
  since_ns_ = now;
  if (track_) track_->add_phase(name_of(phase), epoch, now);
}

bool LiveRun::has_begun() const {
  const std::lock_guard lock(mutex_);
  return loader_ != nullptr || step_;
}

void LiveRun::begin_track() {
  const std::lock_guard lock(mutex_);
  track_.emplace();
}

monitor::TraceTrack LiveRun::end_track() {
  const std::lock_guard lock(mutex_);
  monitor::TraceTrack track = track_ ? track_->track() : monitor::TraceTrack{.name = "trainer"};
  track_.reset();
  return track;
}

std::string LiveRun::place() const {
  std::string text = fold_.member;
  if (!fold_.stage.empty())
    text += fmt::format("{}stage {}", text.empty() ? "" : ", ", fold_.stage);
  if (step_)
    text += fmt::format("{}epoch {}/{}, step {}, {} of {} samples of the epoch",
                        text.empty() ? "" : ", ", step_->epoch + 1, fold_.epochs, step_->step,
                        step_->epoch_samples, fold_.samples_per_epoch);
  return text.empty() ? "no member yet" : text;
}

std::string LiveRun::loader_text() const {
  const LoaderStats stats = loader_->stats();
  const monitor::StepBudget budget = meter_.summary();
  const monitor::Verdict verdict = monitor::judge(budget, monitor::loader_load(stats),
                                                  {.usable_cores = monitor::usable_cores()});
  return fmt::format(
      "budget   {} ({})\nverdict  {}\nqueue    {:.1f} ready on average, one ready {} of the time; "
      "{} of {} slabs on loan; {} held, {} at most\nloader   {} batches, {} samples, {} bad in {}\n"
      "\n{}",
      budget.sentence(), budget.window(), verdict.sentence(), stats.ready_depth,
      format_share(stats.readiness), stats.slabs_on_loan, stats.slabs,
      format_bytes(static_cast<std::uint64_t>(stats.bytes_held)),
      format_bytes(static_cast<std::uint64_t>(stats.peak_bytes_held)), stats.batches, stats.samples,
      stats.bad_samples, format_seconds(stats.elapsed_s), stage_table(stats, stats.elapsed_s));
}

std::string LiveRun::text() const {
  const std::lock_guard lock(mutex_);
  std::string text =
      fmt::format("place    {}\ndoing    {}, for {}\n", place(), doing_, ago(since_ns_));
  if (step_)
    text += fmt::format("step     the last one was told of {} ago, it took {}\n", ago(step_ns_),
                        format_seconds(step_->times.wall_s));
  if (loader_ != nullptr) text += loader_text();
  return text;
}

namespace {

namespace fs = std::filesystem;

constexpr int most_files = 100'000;

// The first of these names that is not taken; `name` gets a number.
template <class Name>
fs::path free_name(const fs::path& folder, const Name& name) {
  for (int number = 1; number < most_files; ++number)
    if (fs::path file = folder / name(number); !fs::exists(file)) return file;
  throw ResourceError(
      fmt::format("[live] {}: holds {} such files; remove some", folder.string(), most_files));
}

fs::path text_file(const fs::path& folder) {
  std::string time;  // "20261127T235959Z"
  for (const char c : utc_time())
    if (c != '-' && c != ':') time += c;
  return free_name(folder, [&time](int number) {
    return "live-" + time + (number > 1 ? fmt::format("-{}", number) : "") + ".txt";
  });
}

std::string threads_text(const Runtime& runtime) {
  Table table({{"thread", Align::left},
               {"loader", Align::left},
               {"stage", Align::left},
               {"on", Align::left}});
  for (const HangReport::InStage& at : threads_at_work(runtime))
    table.row(
        {at.thread, at.loader, at.stage,
         at.sample.index >= 0 ? to_string(at.sample) : fmt::format("batch {}", at.sample.batch)});
  return table.empty() ? "no thread of a loader is in a stage\n" : table.text();
}

std::string text_of(const LiveDumpParts& parts) {
  std::string text = fmt::format("{} process {}\n{}\n{}", utc_time(), ::getpid(), parts.live.text(),
                                 threads_text(parts.runtime));
  if (parts.account) text += '\n' + parts.account() + '\n';
  return text + "\nthreads of the process\n" + describe_threads();
}

void wait(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

void trace_window(const LiveDumpParts& parts, const std::stop_token& stop) {
  Tracing tracing(parts.runtime);
  parts.live.begin_track();
  wait(stop, parts.window);
  monitor::TraceTrack track = parts.live.end_track();
  const fs::path file =
      free_name(parts.folder, [](int number) { return fmt::format("trace-{}.json", number); });
  parts.say(write_run_trace(
      file, monitor::format_seconds(std::chrono::duration<double>(parts.window).count()),
      tracing.stop(), {std::move(track)}));
}

}  // namespace

void dump_live(const LiveDumpParts& parts, const std::stop_token& stop) {
  try {
    if (!parts.live.has_begun())
      return parts.say("SIGUSR2: nothing to show before there is a stage");
    const fs::path file = text_file(parts.folder);
    write_file_atomically(file, text_of(parts), {.who = "live"});
    parts.say(fmt::format(
        "SIGUSR2: what it is doing is in {}; a trace of the next {} follows", file.string(),
        monitor::format_seconds(std::chrono::duration<double>(parts.window).count())));
    trace_window(parts, stop);
  } catch (const std::exception& error) {
    parts.say(fmt::format("SIGUSR2: {}", error.what()));
  }
}

}  // namespace headrace::inline v1::app
