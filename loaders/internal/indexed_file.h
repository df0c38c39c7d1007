#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/partial_file.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// CRC-32, going on from that of the bytes before.
std::uint32_t checksum_of(const void* data, std::size_t bytes, std::uint32_t before = 0) noexcept;
inline std::uint32_t checksum_of(std::span<const std::byte> bytes,
                                 std::uint32_t before = 0) noexcept {
  return checksum_of(bytes.data(), bytes.size(), before);
}

/// A packed file in the making, `path`.partial: a page of header, an index of entries of one size,
/// then what they name. Entries are written after what they name is on disk, so whatever is there
/// after any end of the process is whole. Throws ResourceError.
class IndexedFile : public PartialFile {
 public:
  static constexpr std::size_t page = 4096;

  IndexedFile(std::string path, std::size_t entry_bytes)
      : PartialFile(std::move(path), "pack"), entry_bytes_(entry_bytes) {}

  /// Begins anew.
  void begin(std::uint64_t data_offset);
  /// Goes on after the entries that are there, `most` at most, to the first that does not fit.
  template <class Entry, class Fits>
  std::vector<Entry> resume(std::uint64_t most, const Fits& fits) {
    std::vector<Entry> there;
    std::vector<std::byte> bytes(entry_bytes_);
    while (there.size() < most && read(bytes.data(), bytes.size(), place_of(there.size()))) {
      try {
        const Entry entry = Entry::decode(bytes.data());
        if (!fits(entry)) break;
        there.push_back(entry);
      } catch (const DataError&) {
        break;
      }
    }
    on_disk_ = there.size();
    return there;
  }
  /// An entry, which is written with a later commit, of so many bytes written.
  void append(std::span<const std::byte> entry, std::size_t bytes);
  /// Puts everything appended so far on disk.
  void commit();
  std::uint32_t index_checksum(std::uint64_t index_bytes) const;
  /// Writes the first page once everything before it is on disk.
  void write_header(std::span<const std::byte, page> header);

 private:
  std::uint64_t place_of(std::uint64_t entry) const noexcept { return page + entry * entry_bytes_; }

  std::size_t entry_bytes_;
  std::uint64_t on_disk_ = 0;       ///< entries
  std::vector<std::byte> entries_;  ///< not on disk yet
  std::uint64_t uncommitted_bytes_ = 0;
  std::chrono::steady_clock::time_point last_commit_ = std::chrono::steady_clock::now();
};

}  // namespace headrace::inline v1::detail
