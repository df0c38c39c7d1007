#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/loaders/listing/internal/manifest.h>

#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

detail::ImageListing list(const detail::ManifestRequest& request, detail::ListingSeen& seen) {
  detail::Manifest manifest = detail::read_manifest(request);
  seen.proofs.push_back({request.file, manifest.changed_ns, manifest.bytes, manifest.checksum});
  return {std::move(manifest.files), std::move(manifest.masks), std::move(manifest.values)};
}

/// What a listing depends on beside the file.
std::string settings_of(const detail::ManifestRequest& request) {
  const ManifestColumns& columns = request.columns;
  std::string text = "blanks, separators and numbers by rules 2\n" + columns.label_separator;
  for (const detail::ManifestCell& cell : detail::manifest_cells)
    text += "\n" + columns.*cell.column;
  for (const auto* names : {&columns.labels, &request.classes}) {
    text += "\n" + std::to_string(names->size());
    for (const std::string& name : *names)
      text += "\n" + name;
  }
  return text;
}

std::shared_ptr<const detail::ImageListing> listing_of(const std::string& file,
                                                       const ImageManifestOptions& options) {
  const fs::path root = options.root.empty() ? fs::path(file).parent_path() : options.root;
  const std::string below =
      detail::canonical_folder(root, "image manifest", "the folder of the images");
  const detail::ManifestRequest request{.file = file,
                                        .root = below,
                                        .columns = options.columns,
                                        .classes = options.classes,
                                        .path_names = {"image", "path"},
                                        .masks = true,
                                        .follow_links = options.listing.follow_links};
  const std::string name =
      "image manifest " + detail::printable(file) + " below " + detail::printable(request.root);
  return detail::cached_listing(options.listing, {.name = name, .settings = settings_of(request)},
                                [&](detail::ListingSeen& seen) { return list(request, seen); });
}

}  // namespace

ImageManifest::ImageManifest(const fs::path& file, const ImageManifestOptions& options)
    : ListedImages("image manifest " + detail::printable(detail::canonical_manifest(file)),
                   listing_of(detail::canonical_manifest(file), options)) {}

}  // namespace headrace::inline v1
