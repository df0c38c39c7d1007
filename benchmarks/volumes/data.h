#pragma once

#include <headrace/benchmarks/harness/options.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/loaders/volume/volume_patches.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace headrace::inline v1::bench {

/// What all contenders work on, and how.
struct Work {
  std::filesystem::path folder{};
  std::filesystem::path image{};  ///< empty: the MRI ch2 of Debian's mricron-data
  std::filesystem::path label{};  ///< what is not 0 of it is the label; ch2's brain
  std::array<std::int64_t, 3> patch{72, 136, 136};
  std::int64_t batch = 2;
  int threads = 2;

  explicit Work(const Options& options);
};

/// Options that every Work has.
void add_work(Options& options);

/// Makes what is not there yet in the folder: image.nii, label.nii (uint8, 0 and 1) and large.nii,
/// the MRI ch2better. Fetches mricron-data for those that were not given.
void prepare(const Work& work);

/// All voxels of a volume as they are stored, and the same as one channel in the order z, y, x.
struct Voxels {
  VolumeInfo info{};
  std::vector<std::byte> bytes{};

  std::span<const std::uint8_t> values() const noexcept {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  }
};
Voxels voxels_of_file(const std::filesystem::path& file);
/// Of the values, not the stored voxels.
std::array<double, 2> mean_and_deviation(const Voxels& voxels);

/// image.nii and label.nii as chunk stores (LZ4, 64 voxels a side) in a cache of that share of
/// their bytes.
VolumeCase cached_case(const Work& work, double cache_share);

/// A volume of the folder as a chunk store, made once.
std::filesystem::path chunk_store(const std::filesystem::path& from, ChunkStoreCodec codec);

/// Bytes of a volume's decoded blocks: what a cache must have to hold all of it.
std::size_t block_bytes_of(const Volume& volume);

}  // namespace headrace::inline v1::bench
