#include <headrace/apps/feed/cache_settings.h>

#include <headrace/apps/feed/planned_source.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, CacheSettings& cache) {
  fields.key("memory", cache.memory, {.doc = "most that is kept in memory; 0B: nothing"});
  fields.key("disk", cache.disk, {.doc = "most that is kept in a file in the folder; 0B: nothing"});
  fields.key("folder", cache.folder,
             {.doc = "on a local disk; the file in it has no name and vanishes with the run",
              .used_if = [&cache] { return cache.disk.value > 0; },
              .used_when = "cache.disk is above 0"});
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

std::optional<DecodedCache> open_cache(const CacheSettings& cache,
                                       const std::shared_ptr<const Source>& source,
                                       const Schema& kept) {
  if (!cache.enabled()) return std::nullopt;
  const std::size_t all = DecodedCache::bytes_for(kept, source->size());
  const std::size_t allowed = std::max(cache.memory.value, cache.disk.value);
  return DecodedCache(source, {.bytes = std::clamp<std::size_t>(all, 1, allowed),
                               .folder = cache.disk.value > 0 ? cache.folder : "",
                               .log = &log_table});
}

}  // namespace headrace::inline v1::app
