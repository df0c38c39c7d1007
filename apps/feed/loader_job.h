#pragma once

#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/feed/planned_source.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/monitor/memory_forecast.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace headrace::inline v1::app {

/// What a configuration says of a loader, without a runtime.
LoaderOptions loader_options(int prefetch, const ThreadSettings& threads);

/// The runtime of its threads.
RuntimeOptions runtime_options(const ThreadSettings& threads);

/// A loader as a configuration describes it, of whatever kind. A plain value; nothing is read
/// before source.open().
struct LoaderJob {
  PlannedSource source;
  std::function<Pipeline(std::shared_ptr<const Source>)> pipeline;
  LoaderOptions options;  ///< Without a runtime.
  RuntimeOptions runtime;
  double consumer_delay_s = 0.0;
  bool cached = false;  ///< Whether the forecast of the source holds a cache.

  /// Builds the loader on a runtime of its own. Reads what is to be resident.
  Loader build() const;

  /// What the loader will take, its source included; reads no data.
  monitor::MemoryForecast forecast() const;
};

/// The loader of a configuration of `kind: loader`. Its cache is checked here.
LoaderJob make_loader_job(const LoaderConfig& config);

/// The same over a source that is open already.
LoaderJob make_loader_job(const LoaderConfig& config, PlannedSource source);

/// What a configuration's images are; data.source must be one of images. Throws ConfigError.
ImageData image_data_of(const LoaderData& config);

/// The memory that the process holds before a run, and the stacks of the threads it will start, to
/// be added to a forecast. Under an RLIMIT_DATA what counts is address space, not pages.
void add_process(monitor::MemoryForecast& forecast, int new_threads);

}  // namespace headrace::inline v1::app
