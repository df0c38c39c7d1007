#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/image_folder.h>

#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view image_folder_name = "image folder";

detail::ImageListing list(const detail::FileSearch& search,
                          const std::vector<std::string>& classes) {
  detail::ClassFiles found = detail::list_class_folders(search, classes);
  return {.images = std::move(found.files), .masks = {}, .values = std::move(found.values)};
}

std::shared_ptr<const detail::ImageListing> listing_of(const std::string& root,
                                                       const ImageFolderOptions& options) {
  std::string settings;
  for (const std::string& name : options.classes)
    settings += name + "\n";
  return detail::cached_listing(
      options.listing,
      {.name = "image folder " + detail::printable(root), .settings = std::move(settings)},
      [&](detail::ListingSeen& seen) {
        return list(detail::image_search(root, image_folder_name, seen), options.classes);
      });
}

std::string root_of(const fs::path& root) {
  return detail::canonical_folder(root, image_folder_name, "a folder of class folders");
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& root, const ImageFolderOptions& options)
    : ListedImages("image folder " + detail::printable(root_of(root)),
                   listing_of(root_of(root), options)) {}

}  // namespace headrace::inline v1
