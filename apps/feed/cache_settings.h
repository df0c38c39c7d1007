#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/delay.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/cache/decoded_cache.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A DecodedCache as a configuration describes it; without `memory` and `disk` there is none.
struct CacheSettings {
  Bytes memory;                  ///< Most that is kept in memory.
  Bytes disk;                    ///< Most that is kept on disk, in `folder`.
  std::filesystem::path folder;  ///< On a local disk.

  bool enabled() const { return memory.value > 0 || disk.value > 0; }
};

/// The keys of the section.
void describe(Fields& fields, CacheSettings& cache);

/// Throws ConfigError for what cannot be; `key` is the section's path.
void check(const CacheSettings& cache, const std::string& key);

/// The same, and ConfigError for a cache that would not hold one record of the fields `kept`,
/// ResourceError for a folder that no file can be made in. For the source's outline, before
/// anything is read.
void check(const CacheSettings& cache, const std::string& key,
           const std::shared_ptr<const Source>& outline, const Schema& kept);

/// Records and the first step that makes samples of them, behind a cache where the settings want
/// one. Copies, also of subsets, share the cache.
struct CachedRecords {
  std::shared_ptr<const Source> source;  ///< With a cache: the cache's own.
  std::optional<DecodedCache> cache{};

  CachedRecords subset(std::vector<std::int64_t> indices) const;

  /// The samples that `make` makes, `delay` slower each; what a cache keeps is not delayed again.
  template <SampleOperation Op>
  Pipeline samples(Op make, Duration delay) const {
    const DecodeDelay slow{nanoseconds(delay)};
    if (cache) return Pipeline::from(source).then(cache->keep(std::move(make), slow));
    Pipeline pipeline = Pipeline::from(source).then(std::move(make));
    return delay.seconds > 0.0 ? std::move(pipeline).then(slow) : pipeline;
  }
};

/// `kept` are the fields that the first step makes. A cache takes no more than all records need,
/// whatever the settings allow. Throws what DecodedCache throws.
CachedRecords with_cache(std::shared_ptr<const Source> source, const CacheSettings& cache,
                         const Schema& kept);

}  // namespace headrace::inline v1::app
