#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/image_pairs.h>

#include <string_view>
#include <unordered_map>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr std::string_view image_pairs_name = "image pairs";

[[noreturn]] void refuse_pairs(std::string_view path, const std::string& rule) {
  throw ConfigError("[image pairs] " + detail::printable(path) + ": " + rule);
}

/// Without the extension, if it has one.
std::string_view stem_of(std::string_view path) {
  const std::size_t dot = path.find_last_of("./");
  return dot != std::string_view::npos && path[dot] == '.' ? path.substr(0, dot) : path;
}

using ByStem = std::unordered_map<std::string_view, const detail::ListedFile*>;

ByStem by_stem(const std::vector<detail::ListedFile>& files, std::string_view suffix) {
  ByStem stems;
  for (const detail::ListedFile& file : files) {
    std::string_view stem = stem_of(file.path);
    if (!stem.ends_with(suffix))
      refuse_pairs(file.path, "a mask's name must end in \"" + std::string(suffix) + "\"");
    stem.remove_suffix(suffix.size());
    const auto [at, fresh] = stems.try_emplace(stem, &file);
    if (!fresh) {
      refuse_pairs(file.path, "differs from " + detail::printable(at->second->path) +
                                  " by its extension only; keep one of them");
    }
  }
  return stems;
}

struct Folders {
  std::string images;
  std::string masks;
};

/// The files of both kinds, sorted by path.
struct Files {
  std::vector<detail::ListedFile> images;
  std::vector<detail::ListedFile> masks;
};

/// In one folder a name that ends in the suffix is a mask's.
Files files_of(const Folders& folders, const std::string& suffix, detail::ListingSeen& seen) {
  Files files{.images = detail::list_files(
                  detail::image_search(folders.images, image_pairs_name, seen), ""),
              .masks = {}};
  if (folders.images != folders.masks) {
    files.masks =
        detail::list_files(detail::image_search(folders.masks, image_pairs_name, seen), "");
    return files;
  }
  if (suffix.empty()) {
    refuse_pairs(
        folders.images,
        "images and masks in one folder must differ by mask_suffix, got none; give what the "
        "masks' names end in, or the masks' own folder");
  }
  const auto is_image = [&suffix](const detail::ListedFile& file) {
    return !stem_of(file.path).ends_with(suffix);
  };
  const auto masks = std::stable_partition(files.images.begin(), files.images.end(), is_image);
  files.masks.assign(masks, files.images.end());
  files.images.erase(masks, files.images.end());
  return files;
}

/// Says how many files of a folder are passed over.
void say_spare(const ListingOptions& listing, std::string_view folder, const std::string& count,
               std::string_view what) {
  if (!listing.log) return;
  listing.log(LogLevel::info, "image pairs " + detail::printable(folder) + ": " + count + " " +
                                  std::string(what) + " and are passed over");
}

std::string share_of(std::size_t spare, std::size_t all) {
  return std::to_string(spare) + " of " + std::to_string(all);
}

/// Masks whose image is not there: refused, or said to be passed over.
void look_at_spare_masks(const Files& files, const ByStem& image_of,
                         const ImagePairsOptions& options) {
  std::size_t spare = 0;
  for (const detail::ListedFile& mask : files.masks) {
    std::string_view stem = stem_of(mask.path);
    stem.remove_suffix(options.mask_suffix.size());
    if (image_of.contains(stem)) continue;
    if (!options.spare_masks) refuse_pairs(mask.path, "this mask has no image; remove it");
    ++spare;
  }
  if (spare == 0) return;
  say_spare(options.listing, options.masks.native(), share_of(spare, files.masks.size()),
            "masks have no image here");
}

/// Images whose mask is not there, likewise; there must be others.
void look_at_spare_images(const Folders& folders, const Files& files, const ByStem& mask_of,
                          const ImagePairsOptions& options) {
  std::size_t spare = 0;
  for (const detail::ListedFile& image : files.images) {
    if (mask_of.contains(stem_of(image.path))) continue;
    if (!options.spare_images) {
      refuse_pairs(image.path,
                   "has no mask in " + detail::printable(folders.masks) +
                       "; add it, have spare images passed over, or leave the image out by "
                       "a manifest");
    }
    ++spare;
  }
  if (spare == files.images.size()) {
    refuse_pairs(folders.images,
                 "must hold an image with a mask in " + detail::printable(folders.masks) +
                     ", got none among " + std::to_string(spare) + " images and " +
                     std::to_string(files.masks.size()) +
                     " masks; name the folder whose masks are called as the images are");
  }
  if (spare == 0) return;
  say_spare(options.listing, options.images.native(), share_of(spare, files.images.size()),
            "images have no mask");
}

detail::ImageListing list(const Folders& folders, const ImagePairsOptions& options,
                          detail::ListingSeen& seen) {
  const Files files = files_of(folders, options.mask_suffix, seen);
  if (files.images.empty())
    refuse_pairs(folders.images, "must hold an image, got none" + seen.passed_over.in_brackets());
  const ByStem image_of = by_stem(files.images, "");
  const ByStem mask_of = by_stem(files.masks, options.mask_suffix);
  look_at_spare_masks(files, image_of, options);
  look_at_spare_images(folders, files, mask_of, options);
  detail::ImageListing listing;
  listing.images.root = folders.images;
  listing.masks.root = folders.masks;
  for (const detail::ListedFile& image : files.images) {
    const auto mask = mask_of.find(stem_of(image.path));
    if (mask == mask_of.end()) continue;
    listing.images.add(image.path, image.bytes);
    listing.masks.add(mask->second->path, mask->second->bytes);
  }
  return listing;
}

Folders folders_of(const ImagePairsOptions& options) {
  return {detail::canonical_folder(options.images, image_pairs_name, "a folder of images"),
          detail::canonical_folder(options.masks, image_pairs_name, "a folder of masks")};
}

std::shared_ptr<const detail::ImageListing> listing_of(const ImagePairsOptions& options) {
  const Folders folders = folders_of(options);
  const std::string name = "image pairs " + detail::printable(folders.images) + " and " +
                           detail::printable(folders.masks) + " " +
                           detail::printable(options.mask_suffix) +
                           (options.spare_masks ? " with spare masks" : "") +
                           (options.spare_images ? " with spare images" : "");
  return detail::cached_listing(options.listing, {.name = name}, [&](detail::ListingSeen& seen) {
    return list(folders, options, seen);
  });
}

}  // namespace

ImagePairs::ImagePairs(const ImagePairsOptions& options)
    : ListedImages("image pairs " + detail::printable(folders_of(options).images),
                   listing_of(options)) {}

}  // namespace headrace::inline v1
