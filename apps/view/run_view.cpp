#include <headrace/apps/run/data_log.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/run/seconds_since.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/view/data_waits.h>
#include <headrace/apps/view/epoch_table.h>
#include <headrace/apps/view/files_needed.h>
#include <headrace/apps/view/live_run.h>
#include <headrace/apps/view/live_text.h>
#include <headrace/apps/view/metrics_log.h>
#include <headrace/apps/view/run_adviser.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/apps/view/run_voice.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/system/status_line.h>

#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <spdlog/logger.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;
using monitor::format_bytes;
using monitor::format_seconds;

void append(MetricRow& row, const MetricRow& more) {
  row.insert(row.end(), more.begin(), more.end());
}

RunAdviserOptions advised(const RunViewOptions& options) {
  RunAdviserOptions advice = options.advice;
  advice.on_gpu = options.on_gpu;
  return advice;
}

}  // namespace

class RunView::Impl {
 public:
  Impl(RunFolder& folder, const RunViewOptions& options);

  RunVoice& voice() { return voice_; }
  RunAdvice& advice() { return advice_; }
  void begin_fold(const FoldView& fold, Loader& loader);
  void end_fold();
  void on_step(const StepFacts& step);
  void on_bad_step(const BadStepFacts& bad) { metrics_.on_bad_step(bad); }
  void on_train_epoch_end();
  void on_epoch(const EpochFacts& epoch, const monitor::MemoryWatch& memory);
  void on_phase(PhaseFacts phase);
  std::optional<double> data_wait_share() const;
  SystemTotals system() const { return system_->totals(); }
  LiveRun& live() { return live_; }

 private:
  void begin_training_part(const StepFacts& step);
  void show(const StepFacts& step);
  void print_epoch(const EpochFacts& epoch, const EpochLine& line);

  bool on_gpu_;
  RunVoice voice_;
  MetricsLog metrics_;
  LiveRun live_;
  FoldView fold_;
  Loader* loader_ = nullptr;
  monitor::StepBudgetMeter meter_;
  monitor::StepTimes counted_;  // of all epochs
  monitor::CpuSampler cpu_;     // over training parts
  RunAdvice advice_;
  LoaderStats stats_;        // of the epoch's training part
  monitor::CpuUsage usage_;  // likewise
  SystemWindow window_;      // likewise
  bool in_training_part_ = false;
  std::int64_t first_samples_ = 0;  // of the epoch, when this process began with it
  Clock::time_point part_start_;
  ShownLoss loss_;
  ShownTerms terms_;
  EpochTable table_;
  bool member_said_ = false;             // above its epochs
  DataWaits waits_;                      // of the epoch
  MemoryPhases phases_;                  // of the stage
  std::optional<DataLogGuard> sources_;  // the loggers outlive it
  std::optional<SystemLog> system_;      // likewise
};

RunView::Impl::Impl(RunFolder& folder, const RunViewOptions& options)
    : on_gpu_(options.on_gpu),
      voice_(folder.path(), options.level),
      metrics_(folder, options.metrics, [this](const std::string& line) { voice_.warn(line); }),
      live_(options.on_gpu),
      meter_({.on_gpu = options.on_gpu}),
      advice_(folder, voice_, advised(options)) {
  sources_.emplace([this](headrace::LogLevel of, std::string_view line) {
    of == headrace::LogLevel::warning ? voice_.warn(line) : voice_.log().info(line);
  });
  system_.emplace(folder.path() / "system.jsonl", SystemLogOptions{.allocator = options.allocator},
                  [this](const std::string& line) { voice_.warn(line); });
}

void RunView::Impl::begin_fold(const FoldView& fold, Loader& loader) {
  fold_ = fold;
  loader_ = &loader;
  meter_ = monitor::StepBudgetMeter({.on_gpu = on_gpu_});
  metrics_.begin_fold(fold);
  live_.begin_fold(fold, loader);
  loss_ = {};
  terms_ = {};
  phases_ = {};
  advice_.begin_stage({.number = fold.stage_number,
                       .epochs = fold.epochs,
                       .records = fold.samples_per_epoch,
                       .slab_bytes = on_gpu_ ? slab_bytes(loader) : 0});
  in_training_part_ = false;
  member_said_ = false;
}

void RunView::Impl::end_fold() {
  system_->enter({.phase = "other"});
  live_.end_fold();
  metrics_.end_steps();
  voice_.block().clear();
  loader_ = nullptr;
}

void RunView::Impl::on_step(const StepFacts& report) {
  if (!in_training_part_) begin_training_part(report);
  meter_.add(report.times);
  live_.on_step(report);
  waits_.add(report.step, report.times.data_wait_s);
  if (voice_.level() == LogLevel::trace) voice_.log().trace(step_text(report));
  metrics_.on_step(report);
  loss_.add(report.loss);
  terms_.add(report.terms);
  if (voice_.block().due()) show(report);
}

void RunView::Impl::begin_training_part(const StepFacts& step) {
  in_training_part_ = true;
  system_->enter({.phase = "train", .epoch = step.epoch + 1});
  waits_ = {};
  first_samples_ = step.epoch_samples;  // the rate is taken from the second step on
  loader_->reset_stats();
  cpu_.sample();
  advice_.begin_training_part();
  part_start_ = Clock::now();
}

void RunView::Impl::on_train_epoch_end() {
  live_.on_train_epoch_end();
  metrics_.end_steps();
  stats_ = loader_->stats();
  usage_ = cpu_.sample();
  window_ = system_->window();
  advice_.on_train_epoch_end();
  system_->enter({.phase = "evaluate"});
  in_training_part_ = false;
}

void RunView::Impl::show(const StepFacts& report) {
  const double elapsed = seconds_since(part_start_);
  const auto here = static_cast<double>(report.epoch_samples - first_samples_);
  if (here <= 0.0 || elapsed <= 0.0) return;
  const std::size_t columns = text_columns(STDERR_FILENO);
  const LiveText text = live_text({.fold = fold_,
                                   .step = report,
                                   .samples_per_s = here / elapsed,
                                   .loss = loss_.next(),
                                   .terms = terms_.next(),
                                   .budget = meter_.summary().sentence(),
                                   .machine = system_->status(columns)},
                                  columns);
  voice_.show(text.lines, text.plain, report.step);
}

void RunView::Impl::on_epoch(const EpochFacts& report, const monitor::MemoryWatch& memory) {
  const monitor::StepBudget budget = meter_.summary();
  counted_ += {.wall_s = budget.wall_s, .data_wait_s = budget.data_wait_s};
  const monitor::Verdict verdict = epoch_verdict(budget, stats_, usage_);
  print_epoch(report, {.epochs = fold_.epochs,
                       .budget = budget,
                       .peak_memory = memory.peak_held(),
                       .columns = text_columns(STDERR_FILENO)});
  if (const std::string terms = loss_terms_line(report); !terms.empty())
    voice_.file_log().info(terms);
  voice_.file_log().info("{} ({})", budget.sentence(), budget.window());
  advice_.say(verdict);
  voice_.log().debug(waits_.sentence());
  MetricRow beside{{"data_stall_fraction", budget.data_stall_fraction()},
                   {"bottleneck", verdict.bottleneck},
                   {"peak_memory_bytes", static_cast<std::int64_t>(memory.peak_held())}};
  append(beside, system_row(window_));
  append(beside, phases_.take_epoch());
  metrics_.on_epoch(report, beside);
  advice_.on_epoch({.epoch = report,
                    .epochs = fold_.epochs,
                    .budget = budget,
                    .verdict = verdict,
                    .stats = stats_,
                    .system = window_,
                    .usage = usage_});
  meter_.next_epoch();
  live_.on_epoch();
  system_->enter({.phase = "other"});
}

std::optional<double> RunView::Impl::data_wait_share() const {
  if (counted_.wall_s <= 0.0) return std::nullopt;
  return counted_.data_wait_s / counted_.wall_s;
}

void RunView::Impl::on_phase(PhaseFacts phase) {
  if (phase.phase == RunPhase::training)
    phase.memory.in_loaders = static_cast<std::uint64_t>(stats_.bytes_held);
  live_.on_phase(phase.phase, phase.epoch);
  voice_.log_from(LogLevel::debug).info(phase_line(phase));
  const std::vector<monitor::MemoryRemark> remarks = phases_.add(phase, fold_.epochs);
  advice_.on_phase(phase, phases_.judge());
  // What is wrong in an epoch, the rules of advice say at its end.
  if (!is_of_epoch(phase.phase)) advice_.say(remarks);
  if (const MetricRow row = MemoryPhases::row(phase); !row.empty()) metrics_.on_phase(row);
}

void RunView::Impl::print_epoch(const EpochFacts& epoch, const EpochLine& line) {
  std::string text;
  if (!fold_.member.empty() && !member_said_) text = fold_.member + '\n';
  member_said_ = true;
  text += table_.lines(epoch, line);
  if (window_.mean) text += "  " + status_line(*window_.mean, line.columns - 2) + '\n';
  voice_.rows(text);
}

RunView::RunView(RunFolder& folder, const RunViewOptions& options)
    : impl_(std::make_unique<Impl>(folder, options)) {}
RunView::~RunView() = default;

void RunView::info(const std::string& line) {
  impl_->voice().log().info(clean_message(line));
}
void RunView::warn(const std::string& line) {
  impl_->voice().warn(clean_message(line));
}
void RunView::tell(const std::string& line) {
  impl_->voice().tell(line);
}
void RunView::note(const std::string& line) {
  impl_->voice().file_log().info(clean_message(line));
}
void RunView::note_error(const std::string& line) {
  impl_->voice().fail(clean_message(line));
}
void RunView::event(const std::string& name, const MetricRow& facts) {
  impl_->voice().event(name, facts);
}
void RunView::data_read(std::uint64_t bytes, double seconds) {
  if (bytes == 0) return;
  info(fmt::format("data in memory: {} read in {}", format_bytes(bytes), format_seconds(seconds)));
}
void RunView::say_limits() {
  impl_->advice().on_start();
}
void RunView::begin_fold(const FoldView& fold, Loader& loader) {
  impl_->begin_fold(fold, loader);
}
void RunView::end_fold() {
  impl_->end_fold();
}
void RunView::on_step(const StepFacts& step) {
  impl_->on_step(step);
}
void RunView::on_bad_step(const BadStepFacts& bad) {
  impl_->on_bad_step(bad);
}
void RunView::on_train_epoch_end() {
  impl_->on_train_epoch_end();
}
void RunView::on_epoch(const EpochFacts& epoch, const monitor::MemoryWatch& memory) {
  impl_->on_epoch(epoch, memory);
}
void RunView::on_phase(const PhaseFacts& phase) {
  impl_->on_phase(phase);
}
std::optional<double> RunView::data_wait_share() const {
  return impl_->data_wait_share();
}
SystemTotals RunView::system() const {
  return impl_->system();
}
LiveRun& RunView::live() {
  return impl_->live();
}

}  // namespace headrace::inline v1::app
