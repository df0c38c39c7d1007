#include <headrace/apps/config/units.h>
#include <headrace/apps/feed/process_forecast.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/measure/bench/loader_trial.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/memory_guard.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/view/write_run_trace.h>
#include <headrace/engine/runtime/tracing.h>
#include <headrace/loaders/image/device_decode.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

namespace headrace::inline v1::app {
namespace {

struct BenchLoaderOptions {
  std::filesystem::path config{};
  std::vector<std::string> settings{};
  double step_s = 0.0;  // Pace of the consumer; 0: as fast as batches come.
  int epochs = 1;
  long batches = 0;  // Stop after so many; 0: whole epochs.
  std::filesystem::path json{};
  std::filesystem::path trace{};
};

void add(CLI::App& line, BenchLoaderOptions& options) {
  line.add_option("CONFIG", options.config, "Configuration (YAML)")->required();
  add_settings(line, options.settings);
  const auto read_step = [&options](const std::string& text) {
    const std::optional<Duration> step = parse_duration(text);
    if (!step) throw CLI::ValidationError("--step", "must be a duration such as 20ms, got " + text);
    options.step_s = step->seconds;
  };
  line.add_option_function<std::string>("--step", read_step,
                                        "Put a consumer of this pace behind it: 20ms");
  line.add_option("--epochs", options.epochs, "Epochs to run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  line.add_option("--batches", options.batches, "Stop after so many batches")
      ->check(CLI::NonNegativeNumber);
  line.add_option("--json", options.json, "Write everything measured to this file");
  line.add_option("--trace", options.trace,
                  "Write what threads, queues and batches do to this file, as Chrome's trace");
}

monitor::MemoryForecast forecast_of(const LoaderJob& job, bool traced) {
  monitor::MemoryForecast forecast = job.forecast();
  const Runtime runtime(job.runtime);
  constexpr int own_threads = 2;  // HDF5's and the memory watch
  if (traced) forecast.add("trace", trace_bytes(runtime));
  add_process(forecast, runtime.threads() + runtime.io_threads() + own_threads);
  return forecast;
}

Loader build(const LoaderJob& job, const Runtime& runtime) {
  LoaderOptions options = job.options;
  options.runtime = runtime;
  return job.pipeline(job.source.open()).build(options);
}

ExitCode run(const BenchLoaderOptions& options, const CommandCall& call) {
  cv::setNumThreads(0);
  const ResultFile json(options.json, "[bench loader] --json", {options.config});
  const BenchJob job = read_bench_job(call.jobs, options.config, options.settings);
  const monitor::MemoryLimit limit = monitor::tightest_memory_limit(job.memory);
  const monitor::MemoryForecast forecast = forecast_of(job.loader, !options.trace.empty());
  forecast.require(limit);

  StopSignals signals;
  MemoryGuard guard(limit, signals, [](const std::string& line) {
    fmt::print(stderr, "bench loader: {}\n", line);
  });
  const LoaderTrialOptions trial_options{.step_s = options.step_s,
                                         .delay_s = job.loader.consumer_delay_s,
                                         .epochs = options.epochs,
                                         .batches = options.batches,
                                         .stop = signals.token()};
  const Runtime runtime(job.loader.runtime);
  Loader loader = build(job.loader, runtime);
  std::optional<Tracing> tracing;
  if (!options.trace.empty()) tracing.emplace(runtime);
  LoaderTrial trial = run_loader_trial(loader, trial_options);
  guard.watch().look();
  trial.process_peak_bytes = guard.watch().peak_held();
  trial.process_forecast_bytes = forecast.total();
  trial.device_why = job.device_why;

  const std::string report = loader_report(trial, trial_options);
  std::fwrite(report.data(), 1, report.size(), stdout);
  const DeviceDecodes decodes = device_decodes();
  if (const auto all = decodes.on_device + decodes.on_cpu; all > 0)
    fmt::print("decoded on the GPU: {} of {} pictures\n", decodes.on_device, all);
  if (tracing) fmt::print("{}\n", write_run_trace(options.trace, "the bench", tracing->stop()));
  if (!options.json.empty()) json.write(to_json(trial, trial_options, options.config.string()));
  if (guard.over()) return ExitCode::resources;
  return signals.exit_code();
}

}  // namespace

// Runs the pipeline of a configuration of any kind without a model. The report goes to standard
// output. Refuses before reading when memory would not suffice.
Command bench_loader_command() {
  return make_command<BenchLoaderOptions>(
      "loader",
      "Run a configuration's pipeline without a model: rate, wait, memory, "
      "bottleneck",
      add, run);
}

}  // namespace headrace::inline v1::app
