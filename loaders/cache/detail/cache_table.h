#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/cache/decoded_cache.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/printable.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// Names, dtypes and shapes of a sample's fields and where each lies; shared by samples alike.
struct CacheStore::Layout {
  struct Field {
    std::string name;
    DType dtype;
    Shape shape;
    std::size_t offset;
  };
  std::vector<Field> fields;
  std::size_t bytes = 0;
};

struct CacheStore::Entry {
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  const Layout* layout = nullptr;
  std::unique_ptr<std::byte, Free> memory{};
  std::uint64_t offset = 0;  ///< on disk
};

struct CacheStore::Table {
  /// Several, so that readers share no line.
  struct alignas(64) Stripe {
    std::shared_mutex
        mutex;  ///< held while an entry's memory is read, alone as entries come and go
    std::map<CacheKey, Entry> entries;

    const Entry* find(const CacheKey& key) const {
      const auto found = entries.find(key);
      return found != entries.end() ? &found->second : nullptr;
    }
  };
  /// That an entry takes beside its sample, its place on the heap included.
  static constexpr std::size_t place_bytes = sizeof(std::pair<CacheKey, Entry>) + 48;

  explicit Table(const DecodedCacheOptions& options) : most(options.bytes) {
    if (options.folder.empty()) return;
    file = nameless_file(options.folder, "headrace-cache-XXXXXX");
    if (file.number() < 0) {
      throw ResourceError("[cache] " + printable(options.folder.native()) +
                          ": a file must be made there, got: " + error_text());
    }
  }

  Stripe& stripe(const CacheKey& key) {
    return stripes[static_cast<std::size_t>(key.index + key.part) % stripes.size()];
  }

  std::array<Stripe, 64> stripes;
  std::mutex mutex;  ///< of the layouts
  std::unordered_map<std::string, std::unique_ptr<const Layout>> layouts;
  FileDescriptor file{-1};
  std::atomic<std::size_t> most;  ///< that may be taken
  std::atomic<std::size_t> taken{0};
  std::atomic<std::uint64_t> file_end{0};
  std::atomic<std::int64_t> samples{0};
  std::atomic<std::int64_t> hits{0};
  std::atomic<std::int64_t> misses{0};
  std::atomic<bool> full{false};
  std::atomic<bool> failed{false};
};

}  // namespace headrace::inline v1::detail
