#include <headrace/apps/commands/loader_report.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_rate;
using monitor::format_seconds;
using monitor::format_share;
using Out = std::back_insert_iterator<std::string>;

int threads_of(const StageStats& stage, const LoaderStats& stats) {
  if (stage.place == StageStats::Place::transfer) return 1;
  const int pool = stage.place == StageStats::Place::io ? stats.io_threads : stats.threads;
  return stage.limit > 0 ? std::min(stage.limit, pool) : pool;
}

std::string stage_table(const LoaderTrial& trial) {
  Table table({{"step", Align::left},
               {"stage", Align::left},
               {"items"},
               {"p50"},
               {"p99"},
               {"busy"},
               {"share"}});
  for (const StageStats& stage : trial.stats.stages) {
    const double room = threads_of(stage, trial.stats) * trial.elapsed_s;
    table.row({stage.name, stage.role, std::to_string(stage.items),
               format_seconds(stage.service.p50_s), format_seconds(stage.service.p99_s),
               format_seconds(stage.busy_s), format_share(room > 0.0 ? stage.busy_s / room : 0.0)});
  }
  return table.text();
}

}  // namespace

std::string loader_report(const LoaderTrial& trial, const LoaderTrialOptions& options) {
  std::string text;
  const Out out = std::back_inserter(text);
  fmt::format_to(out, "{:<16} {} samples/s ({}/s)\n", "rate", format_rate(trial.samples_per_s()),
                 format_bytes(static_cast<std::uint64_t>(trial.bytes_per_s())));
  fmt::format_to(out, "{:<16} {} batches, {} samples in {} after {} batches of warm-up\n", "window",
                 trial.batches, trial.samples, format_seconds(trial.elapsed_s),
                 trial.warmup_batches);
  fmt::format_to(out, "{:<16} {}\n", "first batch", format_seconds(trial.first_batch_s));
  fmt::format_to(out, "{:<16} {} ({})\n", "delivered to", to_string(trial.device),
                 trial.device_why);
  fmt::format_to(out, "{:<16} {} held by the process, {} forecast; of it batches {} of {}\n",
                 "peak memory", format_bytes(trial.process_peak_bytes),
                 format_bytes(trial.process_forecast_bytes),
                 format_bytes(static_cast<std::uint64_t>(trial.peak_bytes)),
                 format_bytes(trial.forecast_bytes - trial.source_bytes));
  if (options.step_s > 0.0) {
    fmt::format_to(out, "{:<16} {:.2f} % of the time behind steps of {} (p99 {})\n",
                   "consumer's wait", 100.0 * trial.wait_share, format_seconds(options.step_s),
                   format_seconds(trial.stats.wait.p99_s));
  }
  fmt::format_to(out, "{:<16} {} ready on average, one ready {} of the time\n", "queue",
                 fmt::format("{:.1f}", trial.stats.ready_depth),
                 format_share(trial.stats.readiness));
  fmt::format_to(out, "\n{}\n{}\n", stage_table(trial), trial.verdict.sentence());
  if (trial.verdict.advice) fmt::format_to(out, "{}\n", trial.verdict.advice->line());
  return text;
}

}  // namespace headrace::inline v1::app
