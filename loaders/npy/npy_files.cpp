#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/internal/class_folders.h>
#include <headrace/loaders/listing/internal/manifest.h>
#include <headrace/loaders/npy/detail/array_listing.h>
#include <headrace/loaders/npy/npy_files.h>
#include <headrace/loaders/npy/npy_folder.h>
#include <headrace/loaders/npy/npy_manifest.h>

#include <system_error>
#include <utility>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const detail::ArrayListing> listing_of(const std::string& file,
                                                       const NpyManifestOptions& options) {
  if (!options.columns.mask.empty()) {
    throw ConfigError("[npy manifest] " + detail::printable(file) +
                      ": columns.mask must not be given, arrays have no masks; got " +
                      detail::quoted(options.columns.mask));
  }
  const fs::path root = options.root.empty() ? fs::path(file).parent_path() : options.root;
  const std::string below =
      detail::canonical_folder(root, "npy manifest", "the folder of the arrays");
  const detail::ManifestRequest request{.file = file,
                                        .root = below,
                                        .columns = options.columns,
                                        .classes = options.classes,
                                        .follow_links = options.follow_links};
  detail::Manifest manifest = detail::read_manifest(request);
  return std::make_shared<const detail::ArrayListing>(
      detail::list_arrays(std::move(manifest.files), std::move(manifest.values)));
}

}  // namespace

NpyManifest::NpyManifest(const fs::path& file, const NpyManifestOptions& options)
    : ListedArrays("npy manifest " + detail::printable(detail::canonical_manifest(file)),
                   options.field, listing_of(detail::canonical_manifest(file), options)) {}

namespace {

constexpr std::string_view npy_folder_name = "npy folder";

std::string root_of(const std::filesystem::path& root) {
  return detail::canonical_folder(root, npy_folder_name, "a folder of class folders");
}

std::shared_ptr<const detail::ArrayListing> listing_of(const std::string& root,
                                                       const NpyFolderOptions& options) {
  detail::PassedOver passed_over;
  const detail::FileSearch search{.root = root,
                                  .who = npy_folder_name,
                                  .what = "an array",
                                  .is_wanted = detail::has_npy_extension,
                                  .passed_over = &passed_over,
                                  .follow_links = options.follow_links};
  detail::ClassFiles found = detail::list_class_folders(search, options.classes);
  if (const std::string text = passed_over.text(); options.log && !text.empty())
    options.log(LogLevel::info, "npy folder " + detail::printable(root) + ": " + text);
  return std::make_shared<const detail::ArrayListing>(
      detail::list_arrays(std::move(found.files), std::move(found.values)));
}

}  // namespace

NpyFolder::NpyFolder(const std::filesystem::path& root, const NpyFolderOptions& options)
    : ListedArrays("npy folder " + detail::printable(root_of(root)), options.field,
                   listing_of(root_of(root), options)) {}

namespace {

constexpr std::string_view npy_files_name = "npy files";

detail::FileTable files_in(const fs::path& folder, bool follow_links) {
  detail::FileTable files;
  files.root = detail::canonical_folder(folder, npy_files_name, "a folder of .npy files, or one");
  detail::PassedOver passed_over;
  const detail::FileSearch search{.root = files.root,
                                  .who = npy_files_name,
                                  .what = "an array",
                                  .is_wanted = detail::has_npy_extension,
                                  .passed_over = &passed_over,
                                  .follow_links = follow_links};
  for (const detail::ListedFile& file : detail::list_files(search, ""))
    files.add(file.path, file.bytes);
  if (files.size() == 0)
    throw ConfigError("[npy files] " + detail::printable(files.root) +
                      ": must hold a .npy file, got none" + passed_over.in_brackets());
  return files;
}

detail::FileTable one_file(const fs::path& file) {
  const fs::path whole = fs::canonical(file);
  detail::FileTable files;
  files.root = whole.parent_path().native();
  files.add(whole.filename().native(), fs::file_size(whole));
  return files;
}

std::shared_ptr<const detail::ArrayListing> listing_of(const fs::path& path, bool follow_links) {
  std::error_code missing;
  return std::make_shared<const detail::ArrayListing>(detail::list_arrays(
      fs::is_regular_file(path, missing) ? one_file(path) : files_in(path, follow_links), {}));
}

}  // namespace

NpyFiles::NpyFiles(const fs::path& path, std::string field, bool follow_links)
    : ListedArrays("npy files " + detail::printable(path.native()), std::move(field),
                   listing_of(path, follow_links)) {}

}  // namespace headrace::inline v1
