#pragma once

#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/pack_images.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A record ready to be written. The entry's offset and name are still open.
struct PackRecord {
  PackEntry entry;
  std::vector<std::byte> image;
  std::vector<std::byte> mask;
  std::string bad;  ///< why the image cannot be packed; empty for a good one
  std::uint64_t input_bytes = 0;
};

/// Reads a record of the source and makes of it what the options ask for. Thread-safe. Bad images
/// are said in the result; throws for what no other image would survive either.
PackRecord make_pack_record(const ListedImages& source, std::int64_t index,
                            const PackOptions& options);

}  // namespace headrace::inline v1::detail
