#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/prepare_pictures.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/cache/decoded_cache.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A DecodedCache as a configuration describes it; without `memory` and `disk` there is none.
struct CacheSettings {
  Bytes memory;                  ///< most that is kept in memory
  Bytes disk;                    ///< most that is kept on disk, in `folder`
  std::filesystem::path folder;  ///< on a local disk

  bool enabled() const { return memory.value > 0 || disk.value > 0; }
};

/// The section `data.cache`; `options` says of which sources.
void describe_cache(Fields& fields, CacheSettings& cache, KeyOptions options = {});

/// Throws ConfigError for settings that contradict each other.
void check(const CacheSettings& cache);

/// Records and the first step that makes samples of them, behind a cache where the settings want
/// one. Copies, also of subsets, share the cache.
struct CachedRecords {
  std::shared_ptr<const Source> source;  ///< with a cache: the cache's own
  std::optional<DecodedCache> cache{};

  CachedRecords subset(std::vector<std::int64_t> indices) const;

  /// A pipeline of the samples that `make` makes, `delay` slower each, and `prepare` prepares; what
  /// a cache keeps is neither delayed nor prepared again.
  template <SampleOperation Op>
  Pipeline samples(Op make, Duration delay, PreparePictures prepare = {}) const {
    if (cache)
      return Pipeline::from(source).then(
          cache->keep(std::move(make), DecodeDelay{delay}, std::move(prepare)));
    Pipeline pipeline = slow_decode(Pipeline::from(source).then(std::move(make)), delay);
    return prepare.empty() ? pipeline : std::move(pipeline).then(std::move(prepare));
  }
};

/// `kept` are the fields that the first step makes. A cache takes no more than all records need,
/// whatever the settings allow. Throws what check() throws, ConfigError for a cache that would not
/// hold one record, and what DecodedCache throws: tried with a source's outline, before anything is
/// read.
CachedRecords with_cache(std::shared_ptr<const Source> source, const CacheSettings& cache,
                         const Schema& kept);

/// Those that with_cache() has made and that are in use. Thread-safe.
std::vector<DecodedCache> caches_in_use();

}  // namespace headrace::inline v1::app
