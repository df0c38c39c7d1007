#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Where a chunk lies.
struct ChunkPlace {
  std::uint64_t offset = 0;   ///< in the file, user block included
  std::uint32_t bytes = 0;    ///< as stored; 0: never written, it reads as the fill value
  std::uint32_t skipped = 0;  ///< bit i: filter i was not applied

  bool operator==(const ChunkPlace&) const = default;
};

/// What a saved index must agree with: the data file as it is now.
struct FileIdentity {
  std::uint64_t bytes = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;
  std::uint32_t fingerprint = 0;  ///< CRC-32 of its first and last 64 KiB

  bool operator==(const FileIdentity&) const = default;
};

/// The chunk indexes of a data file, kept beside it as "<file>.headrace-index" so that it opens
/// quickly the next time. A saved index of another state of the file, or a damaged one, counts as
/// none. It is read by pieces: head and directory first, the places of a dataset when they are
/// asked for. Format, little-endian: "HRINDEX2", identity (8, 8, 8, 4 bytes), number of datasets
/// (4), bytes of the directory (4); the directory, of each dataset the length of its key (4), the
/// key, the number of chunks (8), its seal (4); CRC-32 of all before (4); then the places of each
/// dataset, 16 bytes a chunk (offset, stored bytes, filter mask). The seal is a CRC-32 of key,
/// places, and the first bytes of some chunks as the data file has them there.
class ChunkIndexFile {
 public:
  /// Reads what is there; never throws for it.
  ChunkIndexFile(std::filesystem::path data_file, const FileIdentity& identity);

  static std::filesystem::path path_of(const std::filesystem::path& data_file);

  /// The saved index of a dataset, null without one whose seal is that of the data. `key` says
  /// everything it depends on.
  const std::vector<ChunkPlace>* find(const std::string& key, std::size_t chunks);
  void put(std::string key, std::vector<ChunkPlace> places);
  /// Writes when something was put, atomically. Returns why it could not; empty when it could.
  std::string save() const;

 private:
  struct Entry {
    std::string key;
    std::uint64_t chunks = 0;
    std::uint32_t seal = 0;
    std::uint64_t at = 0;  // of its places in the file, until they are read
    std::vector<ChunkPlace> places{};
  };
  void read_directory();
  bool load(Entry& entry) const;
  std::vector<std::byte> text() const;

  std::filesystem::path data_file_;
  std::filesystem::path path_;
  FileIdentity identity_;
  std::vector<Entry> entries_;
  bool changed_ = false;
};

/// Whether an index says of some chunks, others each time, what `place_of` says: the first, the
/// last, and 64 drawn among all. What is wrong for one chunk in twenty is found in 96 of 100 calls.
bool agrees(const std::vector<ChunkPlace>& places,
            const std::function<ChunkPlace(std::size_t chunk)>& place_of);

}  // namespace headrace::inline v1::detail
