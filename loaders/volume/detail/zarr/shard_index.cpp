#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/crc32c.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/detail/zarr/shard_index.h>

#include <cstring>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t entry_bytes = 16, checksum_bytes = 4;

void require_checksum(std::span<const std::byte> stored) {
  const auto entries = stored.first(stored.size() - checksum_bytes);
  std::uint32_t told = 0;
  std::memcpy(&told, stored.data() + entries.size(), sizeof(told));
  if (crc32c(entries) != told) {
    throw DataError(
        "the index of its chunks has another checksum (crc32c) than is stored with it; "
        "the file is damaged");
  }
}

}  // namespace

std::size_t shard_index_bytes(const ZarrShardIndex& index, std::size_t chunks) noexcept {
  return chunks * entry_bytes + (index.checksum ? checksum_bytes : 0);
}

KeptIndexes::Index read_shard_index(const StoreFile& shard, const ZarrShardIndex& index,
                                    std::size_t chunks) {
  const std::size_t bytes = shard_index_bytes(index, chunks);
  if (shard.bytes < bytes) {
    throw DataError("must have an index of " + std::to_string(bytes) + " bytes, the file has " +
                    std::to_string(shard.bytes));
  }
  std::vector<std::byte> stored(bytes);
  shard.read(index.at_start ? 0 : shard.bytes - bytes, stored);
  if (index.checksum) require_checksum(stored);
  KeptIndexes::Index places(chunks * 2);
  std::memcpy(places.data(), stored.data(), chunks * entry_bytes);
  if (index.swap) reverse_bytes(places.data(), places.size(), sizeof(std::uint64_t));
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::uint64_t first = places[2 * chunk], size = places[2 * chunk + 1];
    if (first == not_stored && size == not_stored) continue;
    if (first > shard.bytes || size > shard.bytes - first) {
      throw DataError("its index says that chunk " + std::to_string(chunk) + " has " +
                      std::to_string(size) + " bytes from " + std::to_string(first) +
                      " on, the file has " + std::to_string(shard.bytes) + "; the file is damaged");
    }
  }
  return places;
}

}  // namespace headrace::inline v1::detail
