#pragma once

#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/detail/store/chunk_store_format.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/volume/made_volume.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace headrace::test {

using Bytes = std::vector<std::byte>;

/// All stored voxels of a volume.
inline Bytes all_voxels(const Volume& volume) {
  const CachedVolume reader(std::shared_ptr<const Volume>(std::shared_ptr<void>(), &volume),
                            std::make_shared<BlockCache>(std::size_t{1} << 26));
  const VolumeBox whole{{}, volume.info().shape};
  const std::size_t voxel = size_of(volume.info().dtype);
  Bytes voxels(static_cast<std::size_t>(voxels_of(whole.end)) * voxel);
  reader.read_box(whole, BoxMemory::dense(voxels.data(), whole.end, voxel));
  return voxels;
}

/// A small store with chunks that are packed, plain (noise) and of one value.
inline MadeVolume<std::uint16_t> mixed_volume() {
  return {VolumeInfo{.shape = {2, 8, 9, 11}, .block = {1, 8, 9, 11}},
          [](const VolumeIndex& at) -> std::uint16_t {
            if (at[1] < 4) return 77;
            if (at[0] == 0) return static_cast<std::uint16_t>(at[3]);
            auto number = static_cast<std::uint64_t>(at[1] * 99 + at[2] * 11 + at[3] + 7);
            number *= 0x9e3779b97f4a7c15U;
            return static_cast<std::uint16_t>((number ^ number >> 31) * 0xbf58476d1ce4e5b9U >> 40);
          }};
}

/// The checksums of header and index made right again, where they lie inside the file.
inline void repair_store(Bytes& file) {
  using headrace::detail::ChunkStoreFormat;
  const auto put = [&file](std::size_t at, std::uint32_t value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  };
  if (file.size() < ChunkStoreFormat::page) return;
  std::uint64_t chunks = 0;
  std::memcpy(&chunks, file.data() + 216, 8);
  const std::span all(file);
  if (chunks <= (file.size() - ChunkStoreFormat::page) / ChunkStoreFormat::entry_bytes) {
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::size_t at = ChunkStoreFormat::page + i * ChunkStoreFormat::entry_bytes;
      put(at + 28, headrace::detail::checksum_of(all.subspan(at, 28)));
    }
    put(240, headrace::detail::checksum_of(
                 all.subspan(ChunkStoreFormat::page, chunks * ChunkStoreFormat::entry_bytes)));
  }
  put(ChunkStoreFormat::page - 4,
      headrace::detail::checksum_of(all.first(ChunkStoreFormat::page - 4)));
}

}  // namespace headrace::test
