#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/listed_images.h>
#include <headrace/loaders/image/make_crop_index.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

namespace headrace::inline v1 {

/// What is done so far; all counts include what an interrupted run had done.
struct PackProgress {
  std::int64_t records = 0;
  std::int64_t all_records = 0;
  std::int64_t skipped = 0;
  std::int64_t crop_indexed = 0;
  std::int64_t resumed = 0;       ///< records that were there when this run began
  std::uint64_t input_bytes = 0;  ///< of the files read by this run
  std::uint64_t bytes = 0;        ///< of the pack
};

struct PackOptions {
  std::filesystem::path file{};
  bool crop_index = false;  ///< JPEG files become CropIndexedJpeg; others stay as they are
  CropIndexOptions index{};
  int longest_side = 0;  ///< larger images are shrunk to it and encoded anew as JPEG; 0: none
  int quality = 90;      ///< of these
  std::size_t alignment = 4096;  ///< of records, a power of two from 8 to 2^20
  int threads = 1;
  bool skip_bad = false;  ///< leave bad images out instead of ending with a DataError
  std::function<void(std::int64_t index, const std::string& reason)> on_bad{};
  /// After each record; one thread at a time.
  std::function<void(const PackProgress&)> on_progress{};
  std::stop_token stop{};  ///< ends in good order; run again to go on
};

/// Writes images into one file for ImagePack. While it is being written it is called
/// `file`.partial; when it is whole and on disk, it takes its name. An interrupted run, however it
/// ended, goes on where it was if source and options are the same, the source by the paths, sizes
/// and times of its files and the content of some (else a new file is begun). The bytes do not
/// depend on interruptions, threads, or where the source lies. Throws ConfigError for options that
/// cannot be right, DataError for a bad image (see skip_bad), ResourceError when the file cannot be
/// written.
HEADRACE_API PackProgress pack_images(const ListedImages& source, const PackOptions& options);

}  // namespace headrace::inline v1
