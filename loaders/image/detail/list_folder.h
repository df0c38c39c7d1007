#pragma once

#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/detail/listing_cache.h>

#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

struct ListedFile {
  std::string path;  ///< below the root
  std::uint64_t bytes = 0;
};

/// The images at any depth below `root`/`below`, sorted by path; hidden names are left out. Notes
/// every folder in `proofs`. Throws ConfigError for links that leave the root or lead to folders.
std::vector<ListedFile> list_images(const std::string& root, const std::string& below,
                                    std::string_view who, std::vector<ListingProof>& proofs);

}  // namespace headrace::inline v1::detail
