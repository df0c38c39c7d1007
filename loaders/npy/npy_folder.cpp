#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/internal/class_folders.h>
#include <headrace/loaders/npy/detail/array_listing.h>
#include <headrace/loaders/npy/npy_folder.h>

#include <utility>

namespace headrace::inline v1 {
namespace {

constexpr std::string_view npy_folder_name = "npy folder";

std::string root_of(const std::filesystem::path& root) {
  return detail::canonical_folder(root, npy_folder_name, "a folder of class folders");
}

std::shared_ptr<const detail::ArrayListing> listing_of(const std::string& root,
                                                       const std::vector<std::string>& classes) {
  const detail::FileSearch search{.root = root,
                                  .who = npy_folder_name,
                                  .what = "an array",
                                  .is_wanted = detail::has_npy_extension};
  detail::ClassFiles found = detail::list_class_folders(search, classes);
  return std::make_shared<const detail::ArrayListing>(
      detail::list_arrays(std::move(found.files), std::move(found.values)));
}

}  // namespace

NpyFolder::NpyFolder(const std::filesystem::path& root, const NpyFolderOptions& options)
    : ListedArrays("npy folder " + detail::printable(root_of(root)), options.field,
                   listing_of(root_of(root), options.classes)) {}

}  // namespace headrace::inline v1
