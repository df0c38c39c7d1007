#include <headrace/apps/commands/loader_report.h>
#include <headrace/apps/run/stage_table.h>
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
  fmt::format_to(out, "\n{}\n{}\n", stage_table(trial.stats, trial.elapsed_s),
                 trial.verdict.sentence());
  if (const auto& advice = trial.verdict.advice)
    fmt::format_to(out, "{} · {}\n", monitor::to_string(advice->severity), advice->line());
  return text;
}

}  // namespace headrace::inline v1::app
