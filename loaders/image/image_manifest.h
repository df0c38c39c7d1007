#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/listed_images.h>
#include <headrace/loaders/listing/manifest_columns.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct ImageManifestOptions {
  std::filesystem::path root{};  ///< paths are below it; default: the manifest's own folder
  ManifestColumns columns{};
  /// Class names by label, where other data have fixed them; labels are then to be among them.
  /// Empty: they follow from the labels.
  std::vector<std::string> classes{};
  ListingOptions listing{};
};

/// Images that a file lists, in its order: .csv or .tsv (RFC 4180, a header line) or .jsonl (an
/// object a line). Columns, by the names of ManifestColumns: the image, and as far as wanted a
/// mask, label, group, weight and split; others are passed over. Labels that are all whole numbers
/// are the labels themselves; otherwise names are sorted (bytes) and numbered from 0. With
/// `columns.labels` or `columns.label_separator` an image may have several classes. Paths may not
/// leave the root, by links neither; no path and no group may be in two splits.
class HEADRACE_API ImageManifest final : public ListedImages {
 public:
  /// Throws ConfigError naming file, line and column for what is missing or cannot be right.
  explicit ImageManifest(const std::filesystem::path& file,
                         const ImageManifestOptions& options = {});
};

}  // namespace headrace::inline v1
