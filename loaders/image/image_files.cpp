#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/image_files.h>
#include <headrace/loaders/image/image_formats.h>

#include <string>
#include <system_error>
#include <vector>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view image_files_name = "image files";

[[noreturn]] void refuse_files(const fs::path& path, const std::string& rule) {
  throw ConfigError("[image files] " + detail::printable(path.native()) + ": " + rule);
}

std::shared_ptr<const detail::ImageListing> listing_of(const fs::path& folder,
                                                       const ListingOptions& options) {
  const std::string root =
      detail::canonical_folder(folder, image_files_name, "a folder of images, or an image");
  return detail::cached_listing(
      options, {.name = "image files " + detail::printable(root)}, [&](detail::ListingSeen& seen) {
        detail::ImageListing listing;
        listing.images.root = root;
        for (const detail::ListedFile& file :
             detail::list_files(detail::image_search(root, image_files_name, seen), ""))
          listing.images.add(file.path, file.bytes);
        if (listing.images.size() == 0)
          refuse_files(root, "must hold an image, got none" + seen.passed_over.in_brackets());
        return listing;
      });
}

std::shared_ptr<const detail::ImageListing> listing_of_one(const fs::path& file) {
  if (!is_image_file(file))
    refuse_files(file, "must be a folder of images, or an image, by its extension or first bytes");
  const fs::path whole = fs::canonical(file);
  auto listing = std::make_shared<detail::ImageListing>();
  listing->images.root = whole.parent_path().native();
  listing->images.add(whole.filename().native(), fs::file_size(whole));
  return listing;
}

std::shared_ptr<const detail::ImageListing> list(const fs::path& path,
                                                 const ListingOptions& options) {
  std::error_code missing;
  return fs::is_regular_file(path, missing) ? listing_of_one(path) : listing_of(path, options);
}

}  // namespace

bool is_image_file(const fs::path& file) {
  return has_image_extension(file.native()) ||
         detail::PassedOver().take(file.native(), begins_as_image);
}

ImageFiles::ImageFiles(const fs::path& path, const ListingOptions& options)
    : ListedImages("image files " + detail::printable(path.native()), list(path, options)) {}

}  // namespace headrace::inline v1
