#pragma once

#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/detail/pack_record.h>
#include <headrace/loaders/internal/indexed_file.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A pack file in the making. Records come in order. Throws ResourceError.
class PackFileWriter {
 public:
  /// Goes on with the file if it was begun with this header's fingerprint and `names`; else begins.
  PackFileWriter(std::string path, const PackHeader& header, const PackNames& names);

  /// Entries that were there already.
  const std::vector<PackEntry>& resumed() const noexcept { return resumed_; }
  std::uint64_t bytes() const noexcept { return end_; }

  void append(PackRecord record);
  /// Puts everything appended so far on disk.
  void commit() { file_.commit(); }
  /// commit(), then the header, and the file takes its name.
  void finish();

 private:
  void begin(const std::string& names);
  bool resume(const std::string& names);

  IndexedFile file_;
  PackHeader header_;
  std::uint64_t end_ = 0;
  std::vector<PackEntry> resumed_;
};

}  // namespace headrace::inline v1::detail
