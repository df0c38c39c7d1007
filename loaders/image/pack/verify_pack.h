#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/listed_images.h>
#include <headrace/loaders/image/pack/image_pack.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct PackCheckOptions {
  int crops = 4;  ///< random crops of each image; of every scale, with and without flip
  std::uint64_t seed = 0;
  int threads = 1;
  std::stop_token stop{};
  std::function<void(std::int64_t done)> on_progress{};  ///< one thread at a time
};

/// What was compared. A pack is proven where `problems` is empty and nothing was stopped.
struct PackCheck {
  std::int64_t records = 0;
  std::int64_t crops = 0;             ///< compared with the original's, equal or not
  std::int64_t shrunk = 0;            ///< records whose pixels differ on purpose: only decoded
  std::int64_t damaged = 0;           ///< records with a problem
  std::vector<std::string> problems;  ///< of the first 100: name and what is wrong
};

/// Reads every record of a pack, holds it against its checksum and reads its files to their ends, a
/// crop index entry by entry (ImageDecoder::check()); with `originals`, also compares the pixels of
/// random crops with those of the original files. Throws DataError where pack and originals do not
/// hold the same names.
HEADRACE_API PackCheck verify_pack(const ImagePack& pack, const ListedImages* originals,
                                   const PackCheckOptions& options = {});

}  // namespace headrace::inline v1
