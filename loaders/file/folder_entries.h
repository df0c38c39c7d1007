#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// What stands in a folder; all but `link` of what a link leads to.
struct FolderEntry {
  std::string name;
  bool link = false;
  bool folder = false;
  bool regular = false;
  std::uint64_t bytes = 0;
};

/// The entries of a folder but "." and "..", by name. Unlike std::filesystem's iterators it may run
/// out of memory without ending the process. Throws std::filesystem::filesystem_error.
std::vector<FolderEntry> folder_entries(const std::string& folder);

}  // namespace headrace::inline v1::detail
