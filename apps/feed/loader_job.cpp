#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/apps/run/heap_meter.h>

namespace headrace::inline v1::app {

LoaderOptions loader_options(int prefetch, const ThreadSettings& threads) {
  return {.prefetch = prefetch, .watchdog = abort_on_hang(threads.watchdog)};
}

RuntimeOptions runtime_options(const ThreadSettings& threads) {
  return {.threads = threads.loader, .io_threads = threads.io, .heap_meter = heap_meter()};
}

Loader LoaderJob::build() const {
  LoaderOptions with_runtime = options;
  with_runtime.runtime = Runtime(runtime);
  return pipeline(source.open()).build(with_runtime);
}

monitor::MemoryForecast LoaderJob::forecast() const {
  LoaderOptions with_runtime = options;
  with_runtime.runtime = Runtime(runtime);
  monitor::MemoryForecast forecast;
  for (const MemoryForecast::Item& item :
       pipeline(source.outline).build(with_runtime).forecast().items) {
    const bool with_cache = cached && item.name == "source";
    if (item.bytes > 0) forecast.add(item.name, item.bytes, with_cache ? "and its cache" : "");
  }
  if (source.resident_bytes > 0) forecast.add("data in memory", source.resident_bytes);
  return forecast;
}

}  // namespace headrace::inline v1::app
