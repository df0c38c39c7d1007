#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/cache/decoded_cache.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

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

/// The cache of samples that have the fields `kept`, over `source`; none where the settings want
/// none. It takes no more than all records need, whatever the settings allow. Throws what
/// DecodedCache throws.
std::optional<DecodedCache> open_cache(const CacheSettings& cache,
                                       const std::shared_ptr<const Source>& source,
                                       const Schema& kept);

}  // namespace headrace::inline v1::app
