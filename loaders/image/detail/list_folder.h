#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <headrace/loaders/image/detail/image_listing.h>
#include <headrace/loaders/image/detail/listing_cache.h>

namespace headrace::inline v1::detail {

/// A folder's canonical name. Throws ConfigError where it is none; `who` and `must_be` say why it
/// is wanted.
std::string canonical_folder(const std::filesystem::path& folder, std::string_view who,
                             std::string_view must_be);

/// Throws ConfigError unless a link leads to a file inside `root`.
void check_link(const std::filesystem::path& link, const std::string& root, std::string_view who);

/// Says why a folder could not be listed: a ResourceError where the process lacks descriptors or
/// memory, a DataError where the disk fails, else a ConfigError.
[[noreturn]] void cannot_list(const std::filesystem::filesystem_error& failure,
                              std::string_view who);

struct ListedFile {
  std::string path;  ///< below the root
  std::uint64_t bytes = 0;
};

/// The images at any depth below `root`/`below`, sorted by path; hidden names are left out. Notes
/// every folder in `proofs`. Throws ConfigError for links that leave the root or lead to folders.
std::vector<ListedFile> list_images(const std::string& root, const std::string& below,
                                    std::string_view who, std::vector<ListingProof>& proofs);

}  // namespace headrace::inline v1::detail
