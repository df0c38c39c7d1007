#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/subset.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, CacheSettings& cache) {
  fields.key("memory", cache.memory, {.doc = "most that is kept in memory; 0B: nothing"});
  fields.key("disk", cache.disk, {.doc = "most that is kept in a file in the folder; 0B: nothing"});
  fields.key("folder", cache.folder,
             {.doc = "on a local disk; the file in it has no name and vanishes with the run",
              .used_if = [&cache] { return cache.disk.value > 0; },
              .used_when = "data.cache.disk is above 0"});
}

void check(const CacheSettings& cache, const std::string& key) {
  if (cache.memory.value > 0 && cache.disk.value > 0) {
    throw ConfigError(fmt::format(
        "[config] {}: either memory or disk may be set, got {} and {}; leave one of them out", key,
        format_exact(cache.memory), format_exact(cache.disk)));
  }
  if (cache.disk.value > 0 && cache.folder.empty()) {
    throw ConfigError(
        fmt::format("[config] {}.folder must name a folder on a local disk, got nothing", key));
  }
}

void check(const CacheSettings& cache, const std::string& key,
           const std::shared_ptr<const Source>& outline, const Schema& kept) {
  check(cache, key);
  if (!cache.enabled()) return;
  const Bytes least{DecodedCache::bytes_for(kept, 1)};
  const Bytes allowed = std::max(cache.memory, cache.disk);
  if (allowed < least) {
    throw ConfigError(fmt::format(
        "[config] {}.{} must hold at least one record, {} as it is kept, got {}", key,
        cache.disk.value > 0 ? "disk" : "memory", format_exact(least), format_exact(allowed)));
  }
  with_cache(outline, cache, kept);  // makes the file, which vanishes
}

CachedRecords CachedRecords::subset(std::vector<std::int64_t> indices) const {
  return {.source = std::make_shared<const Subset>(source, std::move(indices)), .cache = cache};
}

CachedRecords with_cache(std::shared_ptr<const Source> source, const CacheSettings& cache,
                         const Schema& kept) {
  if (!cache.enabled()) return {.source = std::move(source)};
  const std::size_t all = DecodedCache::bytes_for(kept, source->size());
  const std::size_t allowed = std::max(cache.memory.value, cache.disk.value);
  const DecodedCache made(std::move(source), {.bytes = std::clamp<std::size_t>(all, 1, allowed),
                                              .folder = cache.disk.value > 0 ? cache.folder : "",
                                              .log = &log_table});
  return {.source = made.source(), .cache = made};
}

}  // namespace headrace::inline v1::app
