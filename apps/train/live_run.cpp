#include <headrace/apps/run/stage_table.h>
#include <headrace/apps/train/live_run.h>
#include <headrace/monitor/cpu_usage.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/verdict.h>

#include <utility>

#include <fmt/format.h>

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

}  // namespace headrace::inline v1::app
