#include <headrace/apps/feed/read_window.h>
#include <headrace/apps/feed/stats_fields.h>
#include <headrace/apps/measure/bench/loader_trial.h>
#include <headrace/apps/run/seconds_since.h>
#include <headrace/apps/run/stage_table.h>
#include <headrace/monitor/advice/adviser.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/monitor/stage_load.h>
#include <headrace/monitor/system/cpu_usage.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/sysinfo.h>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t bytes_of(const Batch& batch) {
  std::int64_t sum = 0;
  for (const std::string& name : batch.names()) {
    sum += static_cast<std::int64_t>(batch[name].bytes());
  }
  return sum;
}

std::int64_t planned_batches(const Loader& loader, const LoaderTrialOptions& options) {
  const std::int64_t all = loader.batches_per_epoch() * options.epochs;
  return options.batches > 0 ? std::min(all, options.batches) : all;
}

// The consumer: takes batches, keeps each for a step, and times its own waiting.
class Consumer {
 public:
  Consumer(Loader& loader, const LoaderTrialOptions& options)
      : loader_(loader),
        options_(options),
        planned_(planned_batches(loader, options)),
        warmup_(std::min(options.warmup, planned_ / 4)) {}

  LoaderTrial run() {
    begin_ = asked_ = window_ = Clock::now();
    for (int epoch = 0; epoch < options_.epochs && !done_; ++epoch) {
      for (Batch& batch : loader_.epoch(epoch)) {
        take(batch);
        if (done_) break;
      }
    }
    trial_.elapsed_s = seconds_since(window_);
    trial_.reads = reads_.facts();
    return trial_;
  }

 private:
  void take(const Batch& batch) {
    const double waited = seconds_since(asked_);
    if (taken_ == 0) {
      trial_.first_batch_s = seconds_since(begin_);
      trial_.device = batch[batch.names().front()].device();
    }
    if (taken_ >= warmup_) {
      trial_.wait_s += waited;
      ++trial_.batches;
      trial_.samples += batch.size();
      trial_.bytes += bytes_of(batch);
    }
    const double step = options_.step_s + options_.delay_s;
    if (step > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(step));
    ++taken_;
    if (taken_ == warmup_) begin_window();
    done_ = taken_ >= planned_ || options_.stop.stop_requested();
    asked_ = Clock::now();
  }

  void begin_window() {
    trial_.peak_bytes = loader_.stats().peak_bytes_held;
    trial_.warmup_batches = warmup_;
    loader_.reset_stats();
    reads_.begin();
    window_ = Clock::now();
  }

  Loader& loader_;
  const LoaderTrialOptions& options_;
  std::int64_t planned_;
  std::int64_t warmup_;
  std::int64_t taken_ = 0;
  bool done_ = false;
  Clock::time_point begin_;
  Clock::time_point asked_;
  Clock::time_point window_;
  ReadWindow reads_;
  LoaderTrial trial_;
};

nlohmann::ordered_json stages_of(const LoaderStats& stats) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const StageStats& stage : stats.stages) {
    stages.push_back({{"name", stage.name},
                      {"stage", stage.role},
                      {"items", stage.items},
                      {"failures", stage.failures},
                      {"busy_s", stage.busy_s},
                      {"limit", stage.limit},
                      {"service", write_fields<nlohmann::ordered_json>(stage.service)}});
  }
  return stages;
}

// Chunks that do not fit what is read of them are behind what a slow stage looks like.
void advise_of_chunks(LoaderTrial& trial, const monitor::LoaderLoad& load) {
  const std::vector<monitor::Advice> all =
      monitor::advise({.verdict = trial.verdict, .load = load, .reads = trial.reads});
  const auto found = std::ranges::find(all, "chunk-shape", &monitor::Advice::rule);
  if (found != all.end()) trial.verdict.advice = *found;
}

}  // namespace

LoaderTrial run_loader_trial(Loader& loader, const LoaderTrialOptions& options) {
  monitor::CpuSampler cpu;
  LoaderTrial trial = Consumer(loader, options).run();
  const monitor::CpuUsage usage = cpu.sample();
  trial.wait_share = trial.elapsed_s > 0.0 ? trial.wait_s / trial.elapsed_s : 0.0;
  trial.stats = loader.stats();
  trial.peak_bytes = std::max(trial.peak_bytes, trial.stats.peak_bytes_held);
  for (const MemoryForecast::Item& item : loader.forecast().items) {
    trial.forecast_bytes += item.bytes;
    if (item.name == "source") trial.source_bytes = item.bytes;
  }
  monitor::LoaderLoad load = monitor::loader_load(trial.stats);
  load.elapsed_s = trial.elapsed_s;
  load.consumer_wait_s = trial.wait_s;
  const unsigned cores = monitor::usable_cores();
  trial.verdict =
      monitor::judge(load, {.usable_cores = cores,
                            .process_cpu_share = usage.process_share,
                            .idle_cpu_share = (1.0 - usage.machine_share) * get_nprocs() / cores,
                            .io_pressure_share = usage.io_pressure_share.value_or(-1.0)});
  advise_of_chunks(trial, load);
  return trial;
}

std::string to_json(const LoaderTrial& trial, const LoaderTrialOptions& options,
                    const std::string& configuration) {
  const LoaderStats& stats = trial.stats;
  nlohmann::ordered_json document{{"configuration", configuration},
                                  {"step_s", options.step_s},
                                  {"device", to_string(trial.device)},
                                  {"samples_per_s", trial.samples_per_s()},
                                  {"bytes_per_s", trial.bytes_per_s()},
                                  {"first_batch_s", trial.first_batch_s},
                                  {"elapsed_s", trial.elapsed_s},
                                  {"batches", trial.batches},
                                  {"warmup_batches", trial.warmup_batches},
                                  {"samples", trial.samples},
                                  {"bytes", trial.bytes},
                                  {"consumer_wait_s", trial.wait_s},
                                  {"consumer_wait_share", trial.wait_share},
                                  {"wait", write_fields<nlohmann::ordered_json>(stats.wait)},
                                  {"forecast_bytes", trial.forecast_bytes},
                                  {"peak_bytes", trial.peak_bytes},
                                  {"process_forecast_bytes", trial.process_forecast_bytes},
                                  {"process_peak_bytes", trial.process_peak_bytes},
                                  {"threads", stats.threads},
                                  {"io_threads", stats.io_threads},
                                  {"slabs", stats.slabs},
                                  {"readiness", stats.readiness},
                                  {"full_share", stats.full_share},
                                  {"ready_depth", stats.ready_depth},
                                  {"room_wait_s", stats.room_wait_s},
                                  {"reorder_wait_s", stats.reorder_wait_s},
                                  {"bad_samples", stats.bad_samples},
                                  {"stages", stages_of(stats)},
                                  {"verdict", nlohmann::ordered_json::parse(trial.verdict.json())}};
  if (trial.reads) document["reads"] = write_fields<nlohmann::ordered_json>(*trial.reads);
  return document.dump(2) + "\n";
}

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
