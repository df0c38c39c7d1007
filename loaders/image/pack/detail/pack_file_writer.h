#pragma once

#include <headrace/loaders/file/partial_file.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/detail/pack_record.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A pack file in the making, `path`.partial. Records come in order. Entries are written after the
/// records they name are on disk, so whatever is there after any end of the process is whole.
/// Throws ResourceError.
class PackFileWriter {
 public:
  /// Goes on with the file if it was begun with this header's fingerprint and `names`; else begins.
  PackFileWriter(std::string path, const PackHeader& header, const PackNames& names);

  /// Entries that were there already.
  const std::vector<PackEntry>& resumed() const noexcept { return resumed_; }
  std::uint64_t bytes() const noexcept { return end_; }

  void append(PackRecord record);
  /// Puts everything appended so far on disk.
  void commit();
  /// commit(), then the header, and the file takes its name.
  void finish();

 private:
  void begin(const std::string& names);
  bool resume(const std::string& names);

  PartialFile file_;
  PackHeader header_;
  std::uint64_t end_ = 0;
  std::uint64_t records_ = 0;  ///< entries on disk
  std::uint64_t uncommitted_bytes_ = 0;
  std::chrono::steady_clock::time_point last_commit_ = std::chrono::steady_clock::now();
  std::vector<std::byte> entries_;  ///< not on disk yet
  std::vector<PackEntry> resumed_;
};

}  // namespace headrace::inline v1::detail
