#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/list_folder.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
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

/// The number of a class folder.
std::int32_t label_of(const std::string& name, const std::vector<std::string>& classes,
                      const std::string& root) {
  const auto at = std::find(classes.begin(), classes.end(), name);
  if (at == classes.end()) {
    refuse(root + "/" + name, "must be one of the " + std::to_string(classes.size()) + " classes" +
                                  detail::suggestion(name, classes));
  }
  return static_cast<std::int32_t>(at - classes.begin());
}

detail::ImageListing list(const std::string& root, const std::vector<std::string>& classes,
                          std::vector<detail::ListingProof>& proofs) {
  detail::ImageListing listing;
  listing.images.root = root;
  proofs.push_back(detail::folder_proof(root));
  const std::vector<std::string> folders = class_folders(root);
  listing.values.classes = classes.empty() ? folders : classes;
  for (const std::string& name : folders) {
    const std::int32_t label = label_of(name, listing.values.classes, root);
    const auto files = detail::list_images(root, name, who, proofs);
    if (files.empty()) {
      refuse(root + "/" + name, "class folder must hold an image, got none; remove it or fill it");
    }
    for (const detail::ListedFile& file : files)
      listing.images.add(file.path, file.bytes);
    listing.values.labels.resize(listing.images.size(), label);
  }
  return listing;
}

std::shared_ptr<const detail::ImageListing> listing_of(const std::string& root,
                                                       const ImageFolderOptions& options) {
  std::string settings;
  for (const std::string& name : options.classes)
    settings += name + "\n";
  return detail::cached_listing(
      options.listing,
      {.name = "image folder " + detail::printable(root), .settings = std::move(settings)},
      [&](std::vector<detail::ListingProof>& proofs) {
        return list(root, options.classes, proofs);
      });
}

std::string root_of(const fs::path& root) {
  return detail::canonical_folder(root, who, "a folder of class folders");
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& root, const ImageFolderOptions& options)
    : ListedImages("image folder " + detail::printable(root_of(root)),
                   listing_of(root_of(root), options)) {}

}  // namespace headrace::inline v1
