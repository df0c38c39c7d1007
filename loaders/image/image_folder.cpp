#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/detail/list_folder.h>
#include <headrace/loaders/image/image_folder.h>

#include <string>
#include <vector>

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
    for (const detail::FolderEntry& entry : detail::folder_entries(root)) {
      if (entry.name.starts_with('.')) continue;
      if (entry.link) detail::check_link(root + "/" + entry.name, root, who);
      if (entry.folder) names.push_back(entry.name);
    }
  } catch (const fs::filesystem_error& failure) {
    detail::cannot_list(failure, who);
  }
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
