#pragma once

#include <headrace/loaders/volume/detail/array/kept_indexes.h>
#include <headrace/loaders/volume/detail/array/store_folder.h>
#include <headrace/loaders/volume/detail/zarr/zarr_array.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// Bytes of the index of a shard of so many chunks.
std::size_t shard_index_bytes(const ZarrShardIndex& index, std::size_t chunks) noexcept;

/// Where each chunk of a shard lies: its first byte and how many there are, both 2^64 - 1 for one
/// that is not stored. All lie in the file. Throws DataError with the rule alone.
KeptIndexes::Index read_shard_index(const StoreFile& shard, const ZarrShardIndex& index,
                                    std::size_t chunks);

/// What stands for both numbers of a chunk that is not stored.
constexpr std::uint64_t not_stored = ~std::uint64_t{0};

}  // namespace headrace::inline v1::detail
