#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/internal/manifest.h>
#include <headrace/loaders/npy/detail/array_listing.h>
#include <headrace/loaders/npy/npy_manifest.h>

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
  const detail::ManifestRequest request{
      .file = file, .root = below, .columns = options.columns, .classes = options.classes};
  detail::Manifest manifest = detail::read_manifest(request);
  return std::make_shared<const detail::ArrayListing>(
      detail::list_arrays(std::move(manifest.files), std::move(manifest.values)));
}

}  // namespace

NpyManifest::NpyManifest(const fs::path& file, const NpyManifestOptions& options)
    : ListedArrays("npy manifest " + detail::printable(detail::canonical_manifest(file)),
                   options.field, listing_of(detail::canonical_manifest(file), options)) {}

}  // namespace headrace::inline v1
