#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <vector>

namespace headrace::inline v1::detail {

/// Files "*.label" of a folder within a limit of bytes; the time of the last write is that of the
/// last use. Thread-safe.
class CacheFolder {
 public:
  CacheFolder(std::filesystem::path folder, std::uint64_t most_bytes);

  /// Makes room for a new file, by removing those that were not used for longest, down to nine
  /// tenths of the limit; false where it has no room in an empty folder.
  bool make_room(std::uint64_t bytes);
  /// Marks a file as used now.
  void touch(const std::filesystem::path& path) const;
  /// Looks into the folder again before the next file.
  void count_again();

 private:
  struct File {
    std::filesystem::path path;
    std::uint64_t bytes;
    std::filesystem::file_time_type used;
  };
  std::vector<File> list() const;
  void remove_oldest(std::uint64_t most);

  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::uint64_t used_bytes_ = 0;
  bool counted_ = false;
};

}  // namespace headrace::inline v1::detail
