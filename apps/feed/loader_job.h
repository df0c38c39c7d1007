#pragma once

#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/feed/planned_source.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/monitor/memory/memory_forecast.h>

#include <functional>
#include <memory>

namespace headrace::inline v1::app {

/// What a configuration says of a loader, without a runtime.
HEADRACE_API LoaderOptions loader_options(int prefetch, const ThreadSettings& threads);

/// The runtime of its threads.
HEADRACE_API RuntimeOptions runtime_options(const ThreadSettings& threads);

/// A loader as a configuration describes it, of whatever kind. A plain value; nothing is read
/// before source.open().
struct HEADRACE_API LoaderJob {
  PlannedSource source;
  std::function<Pipeline(std::shared_ptr<const Source>)> pipeline;
  LoaderOptions options;  ///< without a runtime
  RuntimeOptions runtime;
  double consumer_delay_s = 0.0;
  bool cached = false;  ///< whether the forecast of the source holds a cache

  /// Builds the loader on a runtime of its own. Reads what is to be resident.
  Loader build() const;

  /// What the loader will take, its source included; reads no data.
  monitor::MemoryForecast forecast() const;
};

}  // namespace headrace::inline v1::app
