#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/listed_images.h>

#include <filesystem>
#include <string>

namespace headrace::inline v1 {

struct ImagePairsOptions {
  std::filesystem::path images{};  ///< folder of the images, at any depth
  std::filesystem::path
      masks{};  ///< folder of their masks, laid out the same; or that of the images
  /// What a mask's name has before its extension and its image's has not
  /// (find_mask_suffixes()). Of the masks' own folder other files are passed over and counted.
  std::string mask_suffix{};
  /// Masks without an image are passed over and counted in the log: one folder may hold the masks
  /// of several parts of a data set. False: refused.
  bool spare_masks = false;
  /// Images without a mask are passed over and counted likewise: a data set may leave out the masks
  /// of pictures that show nothing. False: refused.
  bool spare_images = false;
  ListingOptions listing{};
};

/// Images with their masks from two folders: "a/7.jpg" in one belongs to "a/7.png" in the other; or
/// from one, where "a/7.jpg" belongs to "a/7_mask.png" by the suffix "_mask". Sorted by path.
/// Fields: "image" and "mask", the files' bytes (ragged uint8).
class HEADRACE_API ImagePairs final : public ListedImages {
 public:
  /// Throws ConfigError where a folder is missing or empty, an image has no mask (but for
  /// spare_images) or a mask no image (but for spare_masks), no pair is left, two files differ by
  /// extension only, or one folder holds both kinds and there is no suffix.
  explicit ImagePairs(const ImagePairsOptions& options);
};

}  // namespace headrace::inline v1
