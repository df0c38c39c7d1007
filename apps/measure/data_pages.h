#pragma once

#include <headrace/apps/config/document.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Files that a configuration's data are read from.
struct DataFiles {
  std::vector<std::filesystem::path> files{};
  std::uint64_t bytes = 0;
  bool all = true;                ///< false: there are more than were looked for
  std::filesystem::path stage{};  ///< data.stage, where a copy is read instead; empty: none

  /// Of the first file; of one in the working directory ".".
  std::filesystem::path folder() const;

  static constexpr std::size_t most = 200'000;
};

/// Every file that a value of the section `data` names, below every folder that one names, and that
/// a line of a list (.csv, .tsv, .jsonl) names, relative to `data.root` or the list; folders that
/// runs write to are left out. Paths are relative to the working directory. Throws nothing.
DataFiles find_data_files(const Node& document);

/// What the page cache holds of files after it was asked to drop them.
struct DroppedPages {
  bool cold = false;
  std::string how{};  ///< "1.20 GiB of 12 files dropped from the page cache", or why it is memory
};

/// Asks the kernel to drop the files' pages, and looks at some of them afterwards: a file system
/// that lives in memory keeps them, and so does a cache that others use. Throws nothing.
DroppedPages drop_pages(const DataFiles& data);

}  // namespace headrace::inline v1::app
