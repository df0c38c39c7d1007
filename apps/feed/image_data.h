#pragma once

#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/image/image_source.h>
#include <headrace/loaders/image/listed_images.h>
#include <headrace/loaders/listing/manifest_columns.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Of a key that sets ImageData::follow_links.
inline constexpr const char* follow_links_doc =
    "links may lead out of the folder or root, and to folders, as git-annex and DVC keep files; "
    "false: refused";

/// Images, however they are kept.
struct ImageData {
  /// A folder with one folder per class (with `masks`: of any layout), a manifest (.csv, .tsv,
  /// .jsonl), or a pack.
  std::filesystem::path data;
  std::filesystem::path masks{};       ///< the masks' folder, laid out as `data` is
  std::string mask_suffix{};           ///< of a mask's name before its extension
  bool spare_masks = false;            ///< masks without an image are passed over
  bool spare_images = false;           ///< images without a mask are passed over
  std::filesystem::path root{};        ///< of a manifest's paths; default: its folder
  ManifestColumns columns{};           ///< of a manifest
  std::vector<std::string> classes{};  ///< fixed by other data: of a folder and a manifest
  std::filesystem::path listings{};    ///< folder that keeps listings between runs; empty: none
  bool follow_links = false;           ///< out of the folder, and to folders; false: refused
};

/// Whether it is a pack: by the file's first bytes.
bool is_pack(const std::filesystem::path& data);

/// Throws what the sources throw, and ConfigError for what is none of them.
std::shared_ptr<const ImageSource> open_image_data(const ImageData& data);

/// Pictures whose labels nobody asks for: a folder of any layout, an image, a manifest or a pack.
/// Throws what the sources throw.
std::shared_ptr<const ImageSource> open_pictures(const ImageData& data);

/// As open_image_data(), for what lists files: everything but a pack.
std::shared_ptr<const ListedImages> open_listed_images(const ImageData& data);

}  // namespace headrace::inline v1::app
