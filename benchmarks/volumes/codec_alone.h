#pragma once

#include <headrace/benchmarks/volumes/data.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// Packed blocks in memory, decoded by the library of the codec itself and by nothing else.
class PackedBlocks {
 public:
  virtual ~PackedBlocks() = default;
  virtual std::size_t count() const = 0;
  virtual std::size_t largest() const = 0;  ///< bytes of a decoded block
  /// What a thread decodes with: returns the block's bytes, 0 where it fails.
  using Decode = std::function<std::size_t(std::size_t block, std::span<std::byte> out)>;
  virtual Decode decoder() const = 0;
};

/// Cubes of 64 voxels of a volume, packed by "zstd" (level 3), "lz4" or "gzip" (level 4).
std::shared_ptr<const PackedBlocks> pack_blocks(const Voxels& volume, const std::string& codec);
/// The chunks of a .b2nd file; none in a build without Blosc2's library.
std::shared_ptr<const PackedBlocks> blosc2_blocks(const std::filesystem::path& file);

/// Decodes every block once, on bare threads; returns the bytes. Each thread into one block's
/// memory, or block after block into `to`, where that is given.
double decode_all(const PackedBlocks& blocks, int threads, std::byte* to = nullptr);

}  // namespace headrace::inline v1::bench
