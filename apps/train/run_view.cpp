#include <headrace/apps/run/data_log.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/terminal/live_block.h>
#include <headrace/apps/terminal/progress_bar.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/train/data_waits.h>
#include <headrace/apps/train/epoch_table.h>
#include <headrace/apps/train/metrics_log.h>
#include <headrace/apps/train/run_view.h>
#include <headrace/apps/train/step_text.h>
#include <headrace/monitor/cpu_usage.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/step_budget.h>
#include <headrace/monitor/verdict.h>

#include <chrono>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;
using monitor::format_bytes;
using monitor::format_rate;
using monitor::format_seconds;
using monitor::format_share;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

class RunView::Impl {
 public:
  Impl(RunFolder& folder, bool on_gpu, LogLevel level, const MetricsLogOptions& metrics);

  spdlog::logger& log() { return *logger_; }
  spdlog::logger& file_log() { return *file_log_; }
  void tell(const std::string& line);
  void begin_fold(const FoldView& fold, Loader& loader);
  void end_fold();
  void on_step(const StepFacts& step);
  void on_bad_step(const BadStepFacts& bad) { metrics_.on_bad_step(bad); }
  void on_train_epoch_end();
  void on_epoch(const EpochFacts& epoch, const monitor::MemoryWatch& memory);
  void on_phase(PhaseFacts phase);
  std::optional<double> data_wait_share() const;

 private:
  void begin_training_part(const StepFacts& step);
  void show(const StepFacts& step);
  monitor::Verdict judge(const monitor::StepBudget& budget) const;
  void print_epoch(const EpochFacts& epoch, const EpochLine& line);
  void say_verdict(const monitor::Verdict& verdict);

  RunFolder& folder_;
  bool on_gpu_;
  LogLevel level_;
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<spdlog::logger> file_log_;
  std::shared_ptr<LiveBlock> block_;
  MetricsLog metrics_;
  FoldView fold_;
  Loader* loader_ = nullptr;
  monitor::StepBudgetMeter meter_;
  monitor::StepTimes counted_;     // of all epochs
  monitor::CpuSampler cpu_;        // over training parts
  monitor::CpuSampler shown_cpu_;  // since the last line
  monitor::AdviceMemory advice_;
  LoaderStats stats_;        // of the epoch's training part
  monitor::CpuUsage usage_;  // likewise
  bool in_training_part_ = false;
  std::int64_t first_samples_ = 0;  // of the epoch, when this process began with it
  Clock::time_point part_start_;
  ShownLoss loss_;
  ShownTerms terms_;
  EpochTable table_;
  bool member_said_ = false;             // above its epochs
  std::string last_verdict_;             // band and bottleneck
  DataWaits waits_;                      // of the epoch
  MemoryPhases phases_;                  // of the stage
  std::optional<DataLogGuard> sources_;  // the loggers outlive it
};

RunView::Impl::Impl(RunFolder& folder, bool on_gpu, LogLevel level,
                    const MetricsLogOptions& metrics)
    : folder_(folder),
      on_gpu_(on_gpu),
      level_(level),
      metrics_(folder, metrics, [this](const std::string& line) { logger_->warn(line); }),
      meter_({.on_gpu = on_gpu}) {
  // The block tells the log file of its plain lines, the logger prints above the block.
  const auto file = std::make_shared<std::shared_ptr<spdlog::logger>>();
  LiveBlockOptions options;
  options.plain_lines = level <= LogLevel::info;
  options.on_line = [file](const std::string& line) {
    if (*file) log_to_file_only(**file, line);
  };
  block_ = std::make_shared<LiveBlock>(options);
  logger_ = make_run_logger(folder.path(), block_, level);
  *file = file_log_ = make_run_logger(folder.path(), nullptr, level);
  sources_.emplace([this](headrace::LogLevel of, std::string_view line) {
    logger_->log(of == headrace::LogLevel::warning ? spdlog::level::warn : spdlog::level::info,
                 line);
  });
}

void RunView::Impl::tell(const std::string& line) {
  const std::string text = clean_message(line);
  block_->print(utc_time() + " info " + text);
  file_log_->info(text);
}

void RunView::Impl::begin_fold(const FoldView& fold, Loader& loader) {
  fold_ = fold;
  loader_ = &loader;
  meter_ = monitor::StepBudgetMeter({.on_gpu = on_gpu_});
  metrics_.begin_fold(fold);
  loss_ = {};
  terms_ = {};
  phases_ = {};
  in_training_part_ = false;
  member_said_ = false;
}

void RunView::Impl::end_fold() {
  metrics_.end_steps();
  block_->clear();
  loader_ = nullptr;
}

void RunView::Impl::on_step(const StepFacts& report) {
  if (!in_training_part_) begin_training_part(report);
  meter_.add(report.times);
  waits_.add(report.step, report.times.data_wait_s);
  if (level_ == LogLevel::trace) logger_->trace(step_text(report));
  metrics_.on_step(report);
  loss_.add(report.loss);
  terms_.add(report.terms);
  if (block_->due()) show(report);
}

void RunView::Impl::begin_training_part(const StepFacts& step) {
  in_training_part_ = true;
  waits_ = {};
  first_samples_ = step.epoch_samples;  // the rate is taken from the second step on
  loader_->reset_stats();
  cpu_.sample();
  part_start_ = Clock::now();
}

void RunView::Impl::on_train_epoch_end() {
  metrics_.end_steps();
  stats_ = loader_->stats();
  usage_ = cpu_.sample();
  in_training_part_ = false;
}

void RunView::Impl::show(const StepFacts& report) {
  const double done =
      static_cast<double>(report.epoch_samples) / static_cast<double>(fold_.samples_per_epoch);
  const double elapsed = seconds_since(part_start_);
  const auto here = static_cast<double>(report.epoch_samples - first_samples_);
  if (here <= 0.0 || elapsed <= 0.0) return;
  const double rate = here / elapsed;
  const double left = static_cast<double>(fold_.samples_per_epoch - report.epoch_samples) / rate;
  const std::optional<double> loss = loss_.next();
  const std::string step = meter_.summary().sentence();
  const std::string machine =
      fmt::format("CPU {} · memory {}", format_share(shown_cpu_.sample().process_share),
                  format_bytes(monitor::read_process_memory().held()));
  const std::string head =
      fmt::format("{}{}epoch {}/{}", fold_.member, fold_.member.empty() ? "" : " ",
                  report.epoch + 1, fold_.epochs);
  const std::string pace =
      fmt::format("{} samples/s · epoch done in {}", format_rate(rate), format_seconds(left));
  const Figures terms = terms_.next();
  const auto figures_with = [&](const Figures& shown) {
    return loss_text(loss, shown) + (loss ? " " : "") +
           fmt::format("lr {:.2g}", report.learning_rate);
  };
  std::string figures = figures_with(terms);
  if (text_width(pace + " · " + figures) > text_columns(STDERR_FILENO)) figures = figures_with({});
  block_->update({fmt::format("{} {} {}", head, progress_bar(done), format_share(done)),
                  fmt::format("{} · {}", pace, figures), step, machine},
                 fmt::format("{} {} · {} · {} · {} · {}", head, format_share(done), pace, figures,
                             step, machine));
}

monitor::Verdict RunView::Impl::judge(const monitor::StepBudget& budget) const {
  const auto cores = monitor::usable_cores();
  return monitor::judge(budget, monitor::loader_load(stats_),
                        {.usable_cores = cores,
                         .process_cpu_share = usage_.process_share,
                         .io_pressure_share = usage_.io_pressure_share.value_or(-1.0)});
}

void RunView::Impl::on_epoch(const EpochFacts& report, const monitor::MemoryWatch& memory) {
  const monitor::StepBudget budget = meter_.summary();
  counted_ += {.wall_s = budget.wall_s, .data_wait_s = budget.data_wait_s};
  const monitor::Verdict verdict = judge(budget);
  print_epoch(report, {.epochs = fold_.epochs,
                       .budget = budget,
                       .peak_memory = memory.peak_held(),
                       .columns = text_columns(STDERR_FILENO)});
  if (const std::string terms = loss_terms_line(report); !terms.empty()) file_log_->info(terms);
  file_log_->info("{} ({})", budget.sentence(), budget.window());
  say_verdict(verdict);
  logger_->debug(waits_.sentence());
  MetricRow beside{{"data_stall_fraction", budget.data_stall_fraction()},
                   {"bottleneck", verdict.bottleneck},
                   {"peak_memory_bytes", static_cast<std::int64_t>(memory.peak_held())}};
  const MetricRow of_phases = phases_.take_epoch();
  beside.insert(beside.end(), of_phases.begin(), of_phases.end());
  metrics_.on_epoch(report, beside);
  if (verdict.advice && advice_.should_say(*verdict.advice)) {
    logger_->info(verdict.advice->line());
    folder_.advice().write_json(verdict.advice->json());
  }
  meter_.next_epoch();
}

std::optional<double> RunView::Impl::data_wait_share() const {
  if (counted_.wall_s <= 0.0) return std::nullopt;
  return counted_.data_wait_s / counted_.wall_s;
}

void RunView::Impl::on_phase(PhaseFacts phase) {
  if (phase.phase == RunPhase::training)
    phase.memory.in_loaders = static_cast<std::uint64_t>(stats_.bytes_held);
  (level_ <= LogLevel::debug ? logger_ : file_log_)->info(phase_line(phase));
  for (const monitor::MemoryRemark& remark : phases_.add(phase, fold_.epochs)) {
    logger_->warn(remark.sentence);
    folder_.advice().write({{"rule", remark.rule},
                            {"severity", std::string(to_string(monitor::Severity::warning))},
                            {"verdict", remark.sentence}});
  }
  if (const MetricRow row = MemoryPhases::row(phase); !row.empty()) metrics_.on_phase(row);
}

// Lines of the table have no time before them on the terminal: they would not line up with what a
// terminal is wide.
void RunView::Impl::print_epoch(const EpochFacts& epoch, const EpochLine& line) {
  std::string text;
  if (!fold_.member.empty() && !member_said_) text = fold_.member + '\n';
  member_said_ = true;
  text += table_.lines(epoch, line);
  if (level_ <= LogLevel::info) block_->print(text);
  std::istringstream rows(text);
  for (std::string row; std::getline(rows, row);)
    file_log_->info(row);
}

void RunView::Impl::say_verdict(const monitor::Verdict& verdict) {
  std::string key = std::string(to_string(verdict.bound)) + verdict.bottleneck;
  const bool new_one = key != last_verdict_;
  last_verdict_ = std::move(key);
  (new_one ? logger_ : file_log_)->info(verdict.sentence());
}

RunView::RunView(RunFolder& folder, bool on_gpu, LogLevel level, const MetricsLogOptions& metrics)
    : impl_(std::make_unique<Impl>(folder, on_gpu, level, metrics)) {}
RunView::~RunView() = default;

void RunView::info(const std::string& line) {
  impl_->log().info(clean_message(line));
}
void RunView::warn(const std::string& line) {
  impl_->log().warn(clean_message(line));
}
void RunView::tell(const std::string& line) {
  impl_->tell(line);
}
void RunView::note(const std::string& line) {
  impl_->file_log().info(clean_message(line));
}
void RunView::note_error(const std::string& line) {
  impl_->file_log().error(clean_message(line));
}
void RunView::data_read(std::uint64_t bytes, double seconds) {
  if (bytes == 0) return;
  info(fmt::format("data in memory: {} read in {}", format_bytes(bytes), format_seconds(seconds)));
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

}  // namespace headrace::inline v1::app
