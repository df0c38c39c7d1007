#include <headrace/engine/runtime/internal/watch_list.h>

#include <utility>

namespace headrace::inline v1::detail {

namespace {

Origin origin_of(const detail::Activity::State& state) {
  Origin origin;
  origin.index = state.index;
  origin.epoch = state.epoch;
  origin.position = state.position;
  origin.batch = state.batch;
  origin.row = state.row;
  return origin;
}

/// File and part, left out where the source cannot say them.
void ask(const Source& source, Origin& origin) {
  if (origin.index < 0) return;
  try {
    origin.part = source.part(origin.index);
    origin.file = source.origin(origin.index);
  } catch (...) {
    return;
  }
}

}  // namespace

std::string thread_name(int workers, int thread) {
  return thread < workers ? "headrace-" + std::to_string(thread)
                          : "headrace-io-" + std::to_string(thread - workers);
}

void WatchList::add(WatchedLoader loader) {
  std::lock_guard lock(mutex_);
  loaders_.push_back(std::move(loader));
}

void WatchList::remove(const Recorder* recorder) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(loaders_, [&](const auto& loader) { return loader.recorder == recorder; });
}

std::int64_t WatchList::moves() const {
  std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const WatchedLoader& loader : loaders_) {
    for (int thread = 0; thread < loader.recorder->threads(); ++thread)
      sum += loader.recorder->activity(thread).moves();
  }
  return sum;
}

bool WatchList::busy(const Recorder& recorder) const {
  for (int thread = 0; thread < recorder.threads(); ++thread)
    if (recorder.activity(thread).state().stage >= 0) return true;
  return false;
}

std::vector<HangReport::InStage> WatchList::stages() const {
  // A loader may end while its source is asked, which is the user's code and may take any lock.
  std::vector<std::shared_ptr<const Source>> sources;
  std::vector<HangReport::InStage> all = stages_of_all(sources);
  for (std::size_t i = 0; i < all.size(); ++i)
    ask(*sources[i], all[i].sample);
  return all;
}

std::vector<HangReport::InStage> WatchList::stages_of_all(
    std::vector<std::shared_ptr<const Source>>& sources) const {
  std::lock_guard lock(mutex_);
  std::vector<HangReport::InStage> all;
  for (const WatchedLoader& loader : loaders_) {
    for (int thread = 0; thread < loader.recorder->threads(); ++thread) {
      const Activity::State state = loader.recorder->activity(thread).state();
      if (state.stage < 0) continue;
      all.push_back({.thread = thread_name(loader.workers, thread),
                     .loader = loader.name,
                     .stage = loader.stages[static_cast<std::size_t>(state.stage)],
                     .sample = origin_of(state)});
      sources.push_back(loader.source);
    }
  }
  return all;
}

}  // namespace headrace::inline v1::detail
