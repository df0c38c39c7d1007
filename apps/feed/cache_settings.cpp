#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/subset.h>

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

namespace headrace::inline v1::app {

namespace {

void describe(Fields& fields, CacheSettings& cache) {
  fields.key("memory", cache.memory, {.doc = "most that is kept in memory; 0B: nothing"});
  fields.key("disk", cache.disk, {.doc = "most that is kept in a file in the folder; 0B: nothing"});
  fields.key("folder", cache.folder,
             {.doc = "on a local disk; the file in it has no name and vanishes with the run",
              .used_if = [&cache] { return cache.disk.value > 0; },
              .used_when = "data.cache.disk is above 0"});
}

class KnownCaches {
 public:
  void add(const DecodedCache& cache) {
    const std::lock_guard lock(mutex_);
    std::erase_if(caches_, [](const WeakCache& known) { return !known.lock(); });
    caches_.emplace_back(cache);
  }
  std::vector<DecodedCache> in_use() {
    const std::lock_guard lock(mutex_);
    std::vector<DecodedCache> caches;
    for (const WeakCache& known : caches_)
      if (auto cache = known.lock()) caches.push_back(*std::move(cache));
    return caches;
  }

 private:
  std::mutex mutex_;
  std::vector<WeakCache> caches_;
};

KnownCaches& known_caches() {
  static KnownCaches caches;
  return caches;
}

}  // namespace

void describe_cache(Fields& fields, CacheSettings& cache, KeyOptions options) {
  options.doc = "keeps what is made of the records before anything random, for later epochs";
  fields.section(
      "cache", [&](Fields& f) { describe(f, cache); }, std::move(options));
}

void check(const CacheSettings& cache) {
  if (cache.memory.value > 0 && cache.disk.value > 0) {
    throw ConfigError(
        fmt::format("[config] data.cache: either memory or disk may be set, got {} and {}; leave "
                    "one of them out",
                    format_exact(cache.memory), format_exact(cache.disk)));
  }
  if (cache.disk.value > 0 && cache.folder.empty()) {
    throw ConfigError("[config] data.cache.folder must name a folder on a local disk, got nothing");
  }
}

CachedRecords CachedRecords::subset(std::vector<std::int64_t> indices) const {
  return {.source = std::make_shared<const Subset>(source, std::move(indices)), .cache = cache};
}

CachedRecords with_cache(std::shared_ptr<const Source> source, const CacheSettings& cache,
                         const Schema& kept) {
  check(cache);
  if (!cache.enabled()) return {.source = std::move(source)};
  const Bytes least{DecodedCache::bytes_for(kept, 1)};
  const Bytes allowed = std::max(cache.memory, cache.disk);
  if (allowed < least) {
    throw ConfigError(fmt::format(
        "[config] data.cache.{} must hold at least one record, {} as it is kept, got {}",
        cache.disk.value > 0 ? "disk" : "memory", format_exact(least), format_exact(allowed)));
  }
  const std::size_t all = DecodedCache::bytes_for(kept, source->size());
  const DecodedCache made(std::move(source),
                          {.bytes = std::clamp<std::size_t>(all, 1, allowed.value),
                           .folder = cache.disk.value > 0 ? cache.folder : "",
                           .log = &log_table});
  known_caches().add(made);
  return {.source = made.source(), .cache = made};
}

std::vector<DecodedCache> caches_in_use() {
  return known_caches().in_use();
}

}  // namespace headrace::inline v1::app
