#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/listed_images.h>

#include <filesystem>

namespace headrace::inline v1 {

struct ImageManifestOptions {
  std::filesystem::path root{};  ///< paths are below it; default: the manifest's own folder
  ListingOptions listing{};
};

/// Images that a file lists, in its order: .csv or .tsv (RFC 4180, a header line) or .jsonl (an
/// object a line). Columns: "image", and as far as wanted "mask" (paths), "label" and "group"
/// (names or whole numbers), "weight"; others are passed over. Labels that are all whole numbers
/// are the labels themselves; otherwise names are sorted (bytes) and numbered from 0. Paths may not
/// leave the root, by links neither.
class HEADRACE_API ImageManifest final : public ListedImages {
 public:
  /// Throws ConfigError naming file, line and column for what is missing or cannot be right.
  explicit ImageManifest(const std::filesystem::path& file,
                         const ImageManifestOptions& options = {});
};

}  // namespace headrace::inline v1
