#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/listed_images.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct ImageFolderOptions {
  /// Class names by label, where other data have fixed them; a folder must be one of them, and need
  /// not be there. Empty: the folders are the classes.
  std::vector<std::string> classes{};
  ListingOptions listing{};
};

/// One folder per class, image files at any depth below it: jpg, jpeg, jfif, jpe, png, webp, bmp,
/// tif, tiff, in any case, and what begins as a JPEG, PNG or WebP whatever its name; hidden names
/// are left out, and all that is left out is counted in the log. Classes are sorted by name (bytes)
/// and numbered from 0; so are the files of a class. Fields: "image", the file's bytes (ragged
/// uint8), and "label" (int64). Listed when constructed, or read from a cache (ListingOptions).
class HEADRACE_API ImageFolder final : public ListedImages {
 public:
  /// Throws ConfigError where there is no such folder, no class, a class without images or that
  /// options.classes has not, or a link that leaves the folder or leads to another folder.
  explicit ImageFolder(const std::filesystem::path& root, const ImageFolderOptions& options = {});
};

}  // namespace headrace::inline v1
