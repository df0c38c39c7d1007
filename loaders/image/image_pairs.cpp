#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/list_folder.h>
#include <headrace/loaders/image/image_pairs.h>

#include <string_view>
#include <unordered_map>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr std::string_view who = "image pairs";

[[noreturn]] void refuse(std::string_view path, const std::string& rule) {
  throw ConfigError("[image pairs] " + detail::printable(path) + ": " + rule);
}

std::string_view stem_of(std::string_view path) {
  return path.substr(0, path.find_last_of('.'));
}

using ByStem = std::unordered_map<std::string_view, const detail::ListedFile*>;

ByStem by_stem(const std::vector<detail::ListedFile>& files, std::string_view suffix) {
  ByStem stems;
  for (const detail::ListedFile& file : files) {
    std::string_view stem = stem_of(file.path);
    if (!stem.ends_with(suffix))
      refuse(file.path, "a mask's name must end in \"" + std::string(suffix) + "\"");
    stem.remove_suffix(suffix.size());
    const auto [at, fresh] = stems.try_emplace(stem, &file);
    if (!fresh) {
      refuse(file.path, "differs from " + detail::printable(at->second->path) +
                            " by its extension only; keep one of them");
    }
  }
  return stems;
}

struct Folders {
  std::string images;
  std::string masks;
};

detail::ImageListing list(const Folders& folders, const std::string& suffix,
                          std::vector<detail::ListingProof>& proofs) {
  const auto images = detail::list_images(folders.images, "", who, proofs);
  const auto masks = detail::list_images(folders.masks, "", who, proofs);
  if (images.empty()) refuse(folders.images, "must hold an image, got none");
  const ByStem image_of = by_stem(images, "");
  const ByStem mask_of = by_stem(masks, suffix);
  for (const detail::ListedFile& mask : masks) {
    std::string_view stem = stem_of(mask.path);
    stem.remove_suffix(suffix.size());
    if (!image_of.contains(stem)) refuse(mask.path, "this mask has no image; remove it");
  }
  detail::ImageListing listing;
  listing.images.root = folders.images;
  listing.masks.root = folders.masks;
  for (const detail::ListedFile& image : images) {
    const auto mask = mask_of.find(stem_of(image.path));
    if (mask == mask_of.end()) {
      refuse(image.path, "has no mask in " + detail::printable(folders.masks) +
                             "; add it, or leave the image out by a manifest");
    }
    listing.images.add(image.path, image.bytes);
    listing.masks.add(mask->second->path, mask->second->bytes);
  }
  return listing;
}

Folders folders_of(const ImagePairsOptions& options) {
  return {detail::canonical_folder(options.images, who, "a folder of images"),
          detail::canonical_folder(options.masks, who, "a folder of masks")};
}

std::shared_ptr<const detail::ImageListing> listing_of(const ImagePairsOptions& options) {
  const Folders folders = folders_of(options);
  return detail::cached_listing(options.listing,
                                "image pairs " + detail::printable(folders.images) + " and " +
                                    detail::printable(folders.masks) + " " +
                                    detail::printable(options.mask_suffix),
                                [&](std::vector<detail::ListingProof>& proofs) {
                                  return list(folders, options.mask_suffix, proofs);
                                });
}

}  // namespace

ImagePairs::ImagePairs(const ImagePairsOptions& options)
    : ListedImages("image pairs " + detail::printable(folders_of(options).images),
                   listing_of(options)) {}

}  // namespace headrace::inline v1
