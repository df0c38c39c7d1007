#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/internal/traced_loaders.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {

void TracedLoaders::add(TracedLoader& loader) {
  const std::lock_guard lock(mutex_);
  loaders_.push_back(&loader);
  if (events_ == 0) return;
  try {
    loader.begin_trace(events_);
  } catch (...) {
    return;  // the loader's epoch does not end for want of a trace
  }
}

void TracedLoaders::remove(TracedLoader& loader) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(loaders_, &loader);
  if (found == loaders_.end()) return;
  loaders_.erase(found);
  if (events_ == 0) return;
  loader.end_trace();
  try {
    Trace trace = loader.read_trace();
    if (!trace.threads.empty() && ended_.size() < most_ended) ended_.push_back(std::move(trace));
  } catch (...) {
    return;  // no memory to keep it
  }
}

void TracedLoaders::start(std::size_t events) {
  const std::lock_guard lock(mutex_);
  if (events_ != 0)
    throw ConfigError("[trace] a runtime is traced once at a time; stop the trace that is on");
  try {
    for (TracedLoader* loader : loaders_)
      loader->begin_trace(events);
  } catch (...) {
    for (TracedLoader* loader : loaders_)
      loader->end_trace();
    throw;
  }
  events_ = events;
}

std::vector<Trace> TracedLoaders::read() const {
  const std::lock_guard lock(mutex_);
  std::vector<Trace> all = ended_;
  for (const TracedLoader* loader : loaders_) {
    Trace trace = loader->read_trace();
    if (!trace.threads.empty()) all.push_back(std::move(trace));
  }
  return all;
}

void TracedLoaders::stop() noexcept {
  const std::lock_guard lock(mutex_);
  for (TracedLoader* loader : loaders_)
    loader->end_trace();
  events_ = 0;
  ended_.clear();
}

}  // namespace headrace::inline v1::detail
