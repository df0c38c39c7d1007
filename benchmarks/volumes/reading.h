#pragma once

#include <headrace/benchmarks/volumes/data.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// The large volume in one format.
struct StoredVolume {
  std::string name{};   ///< of the format
  std::string codec{};  ///< as for codec_alone(); empty: none
  std::filesystem::path path{};
};

/// Those of the folder that are there; chunk stores are made. What volumes.py makes may be missing.
std::vector<StoredVolume> stored_volumes(const Work& work);

/// Reads random patches of a volume as they are stored, on all threads, through a cache.
class PatchReading {
 public:
  PatchReading(StoredVolume what, const Work& work, double cache_share);

  /// Drops what can be dropped: the cache of blocks, the index and the files' pages.
  void make_cold();
  /// Returns patches.
  double read(std::int64_t patches);
  /// Makes every block and copies nothing out of them.
  void fill();
  /// Since it was cold.
  BlockCacheStats stats() const { return cache_->stats(); }

 private:
  void open();
  // Work 0 to count - 1, on all threads.
  template <class Use>
  void on_threads(std::int64_t count, const Use& use);

  StoredVolume what_;
  Work work_;
  double cache_share_;
  std::vector<std::filesystem::path> files_;
  std::shared_ptr<BlockCache> cache_;
  std::optional<CachedVolume> volume_;
  std::int64_t position_ = 0;
};

/// The files of a volume, which may be a folder.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path);

/// Reads whole files once on all threads, by MiB; returns their bytes.
double read_files(const std::vector<std::filesystem::path>& files, int threads);

}  // namespace headrace::inline v1::bench
