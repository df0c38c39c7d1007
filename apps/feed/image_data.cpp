#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/image_files.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/loaders/image/pack/image_pack.h>

#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// One file a data set, named after what it lists.
ListingOptions listing_of(const ImageData& data) {
  ListingOptions options{.cache = {}, .log = &log_data, .follow_links = data.follow_links};
  if (data.listings.empty()) return options;
  std::error_code failed;
  fs::create_directories(data.listings, failed);
  if (failed) {
    throw ConfigError(fmt::format("[config] {}: must be a folder that listings can be kept in: {}",
                                  clean_text(data.listings.native()), failed.message()));
  }
  const std::string subject =
      fmt::format("{}\n{}\n{}\n{}{}{}", fs::absolute(data.data).native(), data.masks.native(),
                  data.root.native(), data.mask_suffix, data.spare_masks ? "\nspare" : "",
                  data.spare_images ? "\nspare images" : "");
  options.cache = data.listings / fmt::format("{:016x}.listing", hash_name(subject));
  return options;
}

}  // namespace

bool is_pack(const fs::path& data) {
  std::array<char, 8> first{};
  std::ifstream(data, std::ios::binary).read(first.data(), first.size());
  return std::string_view(first.data(), first.size()) == "hrpack1\n";
}

std::shared_ptr<const ImageSource> open_pictures(const ImageData& data) {
  std::error_code failed;
  if (fs::is_directory(data.data, failed) || is_image_file(data.data))
    return std::make_shared<const ImageFiles>(data.data, listing_of(data));
  return open_image_data(data);
}

std::shared_ptr<const ListedImages> open_listed_images(const ImageData& data) {
  if (!data.masks.empty()) {
    return std::make_shared<const ImagePairs>(ImagePairsOptions{.images = data.data,
                                                                .masks = data.masks,
                                                                .mask_suffix = data.mask_suffix,
                                                                .spare_masks = data.spare_masks,
                                                                .spare_images = data.spare_images,
                                                                .listing = listing_of(data)});
  }
  std::error_code failed;
  if (fs::is_directory(data.data, failed))
    return std::make_shared<const ImageFolder>(
        data.data, ImageFolderOptions{.classes = data.classes, .listing = listing_of(data)});
  const std::string extension = data.data.extension().native();
  if (extension == ".csv" || extension == ".tsv" || extension == ".jsonl") {
    return std::make_shared<const ImageManifest>(data.data,
                                                 ImageManifestOptions{.root = data.root,
                                                                      .columns = data.columns,
                                                                      .classes = data.classes,
                                                                      .listing = listing_of(data)});
  }
  throw ConfigError(fmt::format(
      "[data] {}: must be a folder with one folder per class, or a manifest (.csv, .tsv, .jsonl)",
      clean_text(data.data.native())));
}

std::shared_ptr<const ImageSource> open_image_data(const ImageData& data) {
  std::error_code failed;
  if (fs::is_regular_file(data.data, failed) && is_pack(data.data))
    return std::make_shared<const ImagePack>(data.data);
  return open_listed_images(data);
}

}  // namespace headrace::inline v1::app
