#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/engine/tensor/device.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

enum class SourceKind : unsigned char { synthetic, hdf5, images, manifest, pairs, pack };

/// Whether its samples are image files.
bool is_images(SourceKind kind);

/// Where a plain loader's samples come from.
struct LoaderData {
  SourceKind source = SourceKind::synthetic;
  std::int64_t rows = 1'000'000;      ///< synthetic: rows in memory
  std::int64_t row_bytes = 640;       ///< synthetic: bytes of a row
  std::filesystem::path file;         ///< hdf5, manifest, pack
  std::vector<std::string> datasets;  ///< hdf5: fields of a sample
  Bytes resident{2ULL << 30};         ///< hdf5: most that is kept in memory
  std::filesystem::path stage;        ///< hdf5, pack: folder the file is copied to; empty: none
  std::filesystem::path folder;       ///< images: a folder for each class; pairs: the images
  std::filesystem::path masks;        ///< pairs: the masks
  std::string mask_suffix;            ///< pairs: of a mask's name before its extension
  std::filesystem::path root;         ///< manifest: of its paths; none: its own folder
  std::filesystem::path listings = "runs/listings";  ///< kept between runs; none: nowhere
  bool follow_links = false;                         ///< out of a folder, and to folders
  CacheSettings cache;                               ///< images: of decoded pictures
  DecodeSettings decode;                             ///< images: how far files are trusted
  int prefetch = 4;                                  ///< batches ahead of the consumer
};

/// How image files become pictures of one size.
struct ImageConfig {
  int side = 224;  ///< of their square, and of what a crop of the list `augment` makes
  int resize = 0;  ///< of the square that is decoded and comes to the list instead; 0: none
  Device::Kind decode = Device::Kind::cpu;  ///< where JPEG files are decoded; cuda: the first GPU
  double device_share = 1.0;                ///< of the JPEG files, where decode is cuda
};

/// A configuration of `kind: loader`: a pipeline without a model.
struct LoaderConfig {
  std::uint64_t seed = 42;
  std::optional<Bytes> memory;  ///< what the process may hold; none: what the machine offers
  LoaderData data;
  ImageConfig image;
  AugmentList augment;
  bool shuffle = true;
  std::int64_t batch = 256;
  bool drop_last = true;
  ThreadSettings threads;
  PlantedDelays delay;
};

/// The keys beside `kind`.
void describe(Fields& fields, LoaderConfig& config);

}  // namespace headrace::inline v1::app
