#pragma once

#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/detail/image_listing.h>
#include <headrace/loaders/image/detail/listing_cache.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Throws ConfigError unless a link leads to a file inside `root`.
void check_link(const std::filesystem::path& link, const std::string& root, std::string_view who);

struct ListedFile {
  std::string path;  ///< below the root
  std::uint64_t bytes = 0;
};

/// The images at any depth below `root`/`below`, sorted by path; hidden names are left out. Notes
/// every folder in `proofs`. Throws ConfigError for links that leave the root or lead to folders.
std::vector<ListedFile> list_images(const std::string& root, const std::string& below,
                                    std::string_view who, std::vector<ListingProof>& proofs);

}  // namespace headrace::inline v1::detail
