#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/listed_images.h>

#include <filesystem>

namespace headrace::inline v1 {

/// Whether a file is an image by its extension, or begins as one (begins_as_image()).
HEADRACE_API bool is_image_file(const std::filesystem::path& file);

/// The image files below a folder, at any depth and sorted by path, or one image file: pictures of
/// which nothing is known. Hidden names are left out; what begins as a JPEG, PNG or WebP is taken
/// whatever its name. Field: "image", the file's bytes (ragged uint8).
class HEADRACE_API ImageFiles final : public ListedImages {
 public:
  /// Throws ConfigError where there is no such file or folder, it holds no image, or a link leaves
  /// the folder or leads to another folder.
  explicit ImageFiles(const std::filesystem::path& path, const ListingOptions& options = {});
};

}  // namespace headrace::inline v1
