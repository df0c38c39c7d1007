#include <headrace/loaders/image/image_folder.h>

#include <algorithm>
#include <string>
#include <vector>

#include <headrace/engine/error.h>
#include <headrace/loaders/image/detail/list_folder.h>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view who = "image folder";

[[noreturn]] void refuse(std::string_view path, const std::string& rule) {
  throw ConfigError("[image folder] " + detail::printable(path) + ": " + rule);
}

std::vector<std::string> class_folders(const std::string& root) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
      if (entry.path().filename().native().starts_with('.')) continue;
      if (entry.is_symlink()) detail::check_link(entry.path(), root, who);
      if (entry.is_directory()) names.push_back(entry.path().filename().native());
    }
  } catch (const fs::filesystem_error& failure) {
    refuse(failure.path1().native(), "cannot be listed: " + failure.code().message());
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) refuse(root, "must hold one folder per class, got none");
  return names;
}

detail::ImageListing list(const std::string& root, std::vector<detail::ListingProof>& proofs) {
  detail::ImageListing listing;
  listing.images.root = root;
  proofs.push_back(detail::folder_proof(root));
  listing.classes = class_folders(root);
  for (std::size_t label = 0; label < listing.classes.size(); ++label) {
    const std::string& name = listing.classes[label];
    const auto files = detail::list_images(root, name, who, proofs);
    if (files.empty()) {
      refuse(root + "/" + name, "class folder must hold an image, got none; remove it or fill it");
    }
    for (const detail::ListedFile& file : files)
      listing.images.add(file.path, file.bytes);
    listing.labels.resize(listing.images.size(), static_cast<std::int32_t>(label));
  }
  return listing;
}

std::shared_ptr<const detail::ImageListing> listing_of(const std::string& root,
                                                       const ListingOptions& options) {
  return detail::cached_listing(
      options, "image folder " + detail::printable(root),
      [&root](std::vector<detail::ListingProof>& proofs) { return list(root, proofs); });
}

std::string root_of(const fs::path& root) {
  return detail::canonical_folder(root, who, "a folder of class folders");
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& root, const ListingOptions& options)
    : ListedImages("image folder " + detail::printable(root_of(root)),
                   listing_of(root_of(root), options)) {}

}  // namespace headrace::inline v1
