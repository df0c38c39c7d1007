#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace headrace::inline v1 {

/// How the chunks of a store are packed. What does not become smaller is stored as it is.
enum class ChunkStoreCodec : std::uint8_t {
  raw = 0,   ///< as they are
  lz4 = 1,   ///< bytes of voxels apart, then LZ4: fast
  zstd = 2,  ///< bytes of voxels apart, then Zstandard: small
};

/// A volume that write_chunk_store() has written: a chunk is a block, read with one pread and held
/// against its checksum. About 16 bytes a chunk stay in memory.
class HEADRACE_API ChunkStoreVolume final : public Volume {
 public:
  /// Reads and checks header and index. Throws DataError for a file that is damaged, cut off, not
  /// finished, or claims what cannot be; ResourceError where the process lacks descriptors.
  explicit ChunkStoreVolume(const std::filesystem::path& file, const VolumeLimits& limits = {});
  ~ChunkStoreVolume() override;

  /// Whether a file that begins so is a chunk store, of whatever version.
  static bool recognises(std::span<const std::byte> beginning) noexcept;

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override;
  std::size_t working_bytes() const override;
  std::size_t resident_bytes() const override;

  ChunkStoreCodec codec() const noexcept;

 private:
  struct State;
  explicit ChunkStoreVolume(std::unique_ptr<const State> state);

  std::unique_ptr<const State> state_;
};

}  // namespace headrace::inline v1
