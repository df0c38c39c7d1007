#include <headrace/apps/feed/loader_job.h>

namespace headrace::inline v1::app {

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
