#include <headrace/apps/commands/bench_loader.h>

#include <headrace/apps/commands/loader_report.h>
#include <headrace/apps/commands/loader_trial.h>
#include <headrace/apps/jobs/read_job.h>
#include <headrace/apps/run/atomic_file.h>
#include <headrace/apps/run/memory_guard.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/device_decode.h>

#include <cstdio>

#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

namespace headrace::inline v1::app {
namespace {

monitor::MemoryForecast forecast_of(const LoaderJob& job) {
  monitor::MemoryForecast forecast = job.forecast();
  const Runtime runtime(job.runtime);
  constexpr int own_threads = 2;  // HDF5's and the memory watch
  add_process(forecast, runtime.threads() + runtime.io_threads() + own_threads);
  return forecast;
}

}  // namespace

ExitCode bench_loader(const BenchLoaderOptions& options) {
  cv::setNumThreads(0);
  const BenchJob job = read_bench_job(options.config, options.settings);
  const monitor::MemoryLimit limit = monitor::tightest_memory_limit(job.memory);
  const monitor::MemoryForecast forecast = forecast_of(job.loader);
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
  Loader loader = job.loader.build();
  LoaderTrial trial = run_loader_trial(loader, trial_options);
  guard.watch().look();
  trial.process_peak_bytes = guard.watch().peak_held();
  trial.process_forecast_bytes = forecast.total();

  const std::string report = loader_report(trial, trial_options);
  std::fwrite(report.data(), 1, report.size(), stdout);
  const DeviceDecodes decodes = device_decodes();
  if (const auto all = decodes.on_device + decodes.on_cpu; all > 0)
    fmt::print("decoded on the GPU: {} of {} pictures\n", decodes.on_device, all);
  if (!options.json.empty()) {
    write_file_atomically(options.json, to_json(trial, trial_options, options.config.string()));
  }
  if (guard.over()) return ExitCode::resources;
  return signals.exit_code();
}

}  // namespace headrace::inline v1::app
