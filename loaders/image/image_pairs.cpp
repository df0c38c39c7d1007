#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/loaders/image/mask_suffix.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <strings.h>

namespace headrace::inline v1 {
namespace {

constexpr std::string_view image_pairs_name = "image pairs";

constexpr std::string_view in_a_manifest = "list the pairs in a manifest";

[[noreturn]] void refuse_pairs(std::string_view path, const std::string& rule) {
  throw ConfigError("[image pairs] " + detail::printable(path) + ": " + rule);
}

using ByStem = std::unordered_map<std::string_view, const detail::ListedFile*>;

/// Of the names that end in the suffix.
ByStem by_stem(const std::vector<detail::ListedFile>& files, std::string_view suffix) {
  ByStem stems;
  for (const detail::ListedFile& file : files) {
    std::string_view stem = stem_of(file.path);
    if (!stem.ends_with(suffix)) continue;
    stem.remove_suffix(suffix.size());
    const auto [at, fresh] = stems.try_emplace(stem, &file);
    if (!fresh) {
      refuse_pairs(file.path, "differs from " + detail::printable(at->second->path) +
                                  " by its extension only, so that its partner cannot be told; "
                                  "give one of them another name, and its partner, or " +
                                  std::string(in_a_manifest));
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
               const std::string& what) {
  if (!listing.log) return;
  listing.log(LogLevel::info, "image pairs " + detail::printable(folder) + ": " + count + " " +
                                  what + " and are passed over");
}

std::string share_of(std::size_t spare, std::size_t all) {
  return std::to_string(spare) + " of " + std::to_string(all);
}

/// An image whose name is that of a mask but for small and capital letters; empty: there is none.
std::string other_case(std::string_view mask, const Files& files) {
  const auto found = std::ranges::find_if(files.images, [mask](const detail::ListedFile& image) {
    const std::string_view stem = stem_of(image.path);
    return stem.size() == mask.size() && ::strncasecmp(stem.data(), mask.data(), mask.size()) == 0;
  });
  return found == files.images.end() ? "" : found->path;
}

/// Masks whose image is not there: refused, or said to be passed over. Files without the suffix are
/// none.
void look_at_spare_masks(const Files& files, const ByStem& image_of,
                         const ImagePairsOptions& options) {
  std::size_t spare = 0;
  std::size_t others = 0;
  for (const detail::ListedFile& mask : files.masks) {
    std::string_view stem = stem_of(mask.path);
    if (!stem.ends_with(options.mask_suffix)) {
      ++others;
      continue;
    }
    stem.remove_suffix(options.mask_suffix.size());
    if (image_of.contains(stem)) continue;
    if (!options.spare_masks) {
      const std::string other = other_case(stem, files);
      refuse_pairs(mask.path,
                   "this mask has no image" +
                       (other.empty() ? "; add it"
                                      : ", " + detail::printable(other) +
                                            " has small and capital letters otherwise; give "
                                            "both one name") +
                       ", have spare masks passed over (spare_masks), or " +
                       std::string(in_a_manifest));
    }
    ++spare;
  }
  if (others > 0)
    say_spare(options.listing, options.masks.native(), share_of(others, files.masks.size()),
              "files do not end in \"" + options.mask_suffix + "\"");
  if (spare > 0)
    say_spare(options.listing, options.masks.native(), share_of(spare, files.masks.size()),
              "masks have no image here");
}

/// Two folders whose files are called otherwise.
[[noreturn]] void refuse_all(const Folders& folders, const Files& files,
                             const ImagePairsOptions& options) {
  const auto first = [](const std::vector<detail::ListedFile>& some) {
    return some.empty() ? "" : " (" + detail::printable(some.front().path) + ")";
  };
  const std::vector<std::string> suffixes =
      find_mask_suffixes(folders.images, folders.masks, options.listing.follow_links);
  std::string way_out =
      "name the folder whose masks are called as the images are, or " + std::string(in_a_manifest);
  if (!suffixes.empty() && suffixes.front() != options.mask_suffix)
    way_out = suffixes.front().empty()
                  ? "leave mask_suffix out"
                  : "set mask_suffix to \"" + detail::printable(suffixes.front()) + "\"";
  refuse_pairs(folders.images,
               "must hold an image with a mask in " + detail::printable(folders.masks) +
                   (options.mask_suffix.empty()
                        ? ""
                        : " that ends in \"" + detail::printable(options.mask_suffix) + "\"") +
                   ", got none among " + std::to_string(files.images.size()) + " images" +
                   first(files.images) + " and " + std::to_string(files.masks.size()) + " masks" +
                   first(files.masks) + "; " + way_out);
}

/// Images whose mask is not there: refused, or said to be passed over.
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
  const auto has_mask = [&](const detail::ListedFile& image) {
    return mask_of.contains(stem_of(image.path));
  };
  if (std::ranges::none_of(files.images, has_mask)) refuse_all(folders, files, options);
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
