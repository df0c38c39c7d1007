#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/crc32c.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/detail/array/array_axes.h>
#include <headrace/loaders/volume/detail/array/kept_indexes.h>
#include <headrace/loaders/volume/detail/array/store_folder.h>
#include <headrace/loaders/volume/detail/zarr/find_zarr.h>
#include <headrace/loaders/volume/detail/zarr/zarr_array.h>
#include <headrace/loaders/volume/zarr_volume.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

/// What stands for both numbers of a chunk that is not stored.
constexpr std::uint64_t not_stored = ~std::uint64_t{0};

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

/// Bytes of the index of a shard of so many chunks.
std::size_t shard_index_bytes(const ZarrShardIndex& index, std::size_t chunks) noexcept {
  return chunks * entry_bytes + (index.checksum ? checksum_bytes : 0);
}

/// Where each chunk of a shard lies: its first byte and how many there are, both 2^64 - 1 for one
/// that is not stored. All lie in the file. Throws DataError with the rule alone.
KeptIndexes::Index read_shard_index(const StoreFile& shard, const ZarrShardIndex& index,
                                    std::size_t chunks) {
  const std::size_t bytes = shard_index_bytes(index, chunks);
  if (shard.bytes() < bytes) {
    throw DataError("must have an index of " + std::to_string(bytes) + " bytes, the file has " +
                    std::to_string(shard.bytes()));
  }
  std::vector<std::byte> stored(bytes);
  shard.read(index.at_start ? 0 : shard.bytes() - bytes, stored);
  if (index.checksum) require_checksum(stored);
  KeptIndexes::Index places(chunks * 2);
  std::memcpy(places.data(), stored.data(), chunks * entry_bytes);
  if (index.swap) reverse_bytes(places.data(), places.size(), sizeof(std::uint64_t));
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::uint64_t first = places[2 * chunk], size = places[2 * chunk + 1];
    if (first == not_stored && size == not_stored) continue;
    if (first > shard.bytes() || size > shard.bytes() - first) {
      throw DataError("its index says that chunk " + std::to_string(chunk) + " has " +
                      std::to_string(size) + " bytes from " + std::to_string(first) +
                      " on, the file has " + std::to_string(shard.bytes()) +
                      "; the file is damaged");
    }
  }
  return places;
}

}  // namespace

}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {
namespace {

using detail::named;
using detail::StoreFile;
using detail::StoreFolder;
using detail::ZarrArray;

detail::ArrayAxes axes_of(const detail::FoundZarr& found) {
  if (found.scale && !found.scale->axes.empty()) return {found.array.shape, found.scale->axes};
  return detail::ArrayAxes(found.array.shape);
}

/// The product of positive extents, which must be at most `most`.
std::size_t bounded_product(const std::vector<std::int64_t>& extents, std::size_t most,
                            const std::string& what) {
  std::size_t whole = 1;
  for (const std::int64_t extent : extents) {
    if (static_cast<std::size_t>(extent) > most / whole)
      throw DataError("must have at most " + std::to_string(most) + " " + what + ", got more");
    whole *= static_cast<std::size_t>(extent);
  }
  return whole;
}

std::vector<std::int64_t> chunks_of_file(const ZarrArray& array) {
  std::vector<std::int64_t> counts;
  for (std::size_t axis = 0; axis < array.file.size(); ++axis)
    counts.push_back(array.file[axis] / array.chunk[axis]);
  return counts;
}

VolumeInfo info_of(const detail::FoundZarr& found, const detail::ArrayAxes& axes) {
  VolumeInfo info{.shape = axes.volume(found.array.shape),
                  .block = axes.volume(found.array.chunk),
                  .dtype = found.array.type.dtype};
  if (!found.scale) return info;
  info.spacing = found.scale->spacing;
  info.affine.fill(0.0);
  for (std::size_t axis = 0; axis < 3; ++axis) {  // x, y, z
    info.affine[5 * axis] = info.spacing[2 - axis];
    info.affine[4 * axis + 3] = found.scale->origin[2 - axis];
  }
  return info;
}

class ZarrVolume final : public Volume {
 public:
  ZarrVolume(VolumeInfo info, std::string name, detail::FoundZarr found, detail::ArrayAxes axes,
             const VolumeLimits& limits)
      : Volume(info, std::move(name)),
        folder_(std::move(found.folder)),
        array_(std::move(found.array)),
        axes_(std::move(axes)),
        layout_(axes_, array_.chunk, array_.order, array_.type.size()),
        counts_(chunks_of_file(array_)),
        chunks_(array_.sharded
                    ? bounded_product(counts_, limits.metadata_bytes / 16, "chunks in a shard")
                    : 1),
        indexes_(detail::most_index_bytes) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    return named(name(), [&] { return read(place, out); });
  }
  std::size_t working_bytes() const override {
    const std::size_t stored = array_.codecs.most_stored(layout_.bytes());
    return 3 * stored + (layout_.same() ? 0 : layout_.bytes());
  }
  std::size_t resident_bytes() const override {
    double files = 1.0;
    for (std::size_t axis = 0; axis < array_.shape.size(); ++axis)
      files *= static_cast<double>((array_.shape[axis] - 1) / array_.file[axis] + 1);
    const auto most = [files](double bytes_a_file) {
      return static_cast<std::size_t>(
          std::min(files * bytes_a_file, double{detail::most_index_bytes}));
    };
    return most(seen_bytes) + (array_.sharded ? most(16.0 * static_cast<double>(chunks_)) : 0);
  }

 private:
  std::uint64_t read(const VolumeIndex& place, std::span<std::byte> out) const {
    std::vector<std::int64_t> file = axes_.array(place);
    std::size_t inner = 0;  // the chunk of the file
    for (std::size_t axis = 0; axis < file.size(); ++axis) {
      inner = inner * static_cast<std::size_t>(counts_[axis]) +
              static_cast<std::size_t>(file[axis] % counts_[axis]);
      file[axis] /= counts_[axis];
    }
    const std::string key = array_.key(file);
    try {
      const std::optional<StoreFile> stored = folder_.open(key);
      if (!stored) require_store();
      require_same(file, key, stored ? stored->opened : detail::FileStamp{});
      if (stored) return read_chunk(*stored, file, inner, out);
    } catch (const DataError& error) {
      throw DataError("file " + key + ": " + error.what());
    }
    fill(out);
    return 0;
  }

  std::uint64_t read_chunk(const StoreFile& file, const std::vector<std::int64_t>& place,
                           std::size_t inner, std::span<std::byte> out) const {
    std::uint64_t first = 0, bytes = file.bytes(), index_bytes = 0;
    if (array_.sharded) {
      const auto index = indexes_.get(number_of(place), [&] {
        index_bytes = detail::shard_index_bytes(array_.index, chunks_);
        return detail::read_shard_index(file, array_.index, chunks_);
      });
      first = (*index)[2 * inner];
      bytes = (*index)[2 * inner + 1];
      if (first == detail::not_stored && bytes == detail::not_stored) {
        fill(out);
        return index_bytes;
      }
    }
    if (bytes > array_.codecs.most_stored(layout_.bytes())) {
      throw DataError("a chunk must have at most " +
                      std::to_string(array_.codecs.most_stored(layout_.bytes())) +
                      " bytes stored, got " + std::to_string(bytes));
    }
    thread_local detail::CodecScratch scratch;
    const auto stored = scratch.stored.take(static_cast<std::size_t>(bytes));
    file.read(first, stored);
    decode(stored, out, scratch);
    return bytes + index_bytes;
  }

  void decode(std::span<const std::byte> stored, std::span<std::byte> out,
              detail::CodecScratch& scratch) const {
    if (layout_.same()) {
      array_.codecs.decode(stored, out, scratch);
    } else {
      thread_local detail::ScratchBytes room;
      const auto chunk = room.take(layout_.bytes());
      array_.codecs.decode(stored, chunk, scratch);
      layout_.copy(chunk.data(), out.data());
    }
    const std::size_t size = array_.type.size();
    if (array_.type.swap) detail::reverse_bytes(out.data(), out.size() / size, size);
  }

  /// Of a file, where its place stands for it.
  std::uint64_t number_of(const std::vector<std::int64_t>& place) const {
    std::uint64_t number = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      const std::int64_t files = (array_.shape[axis] - 1) / array_.file[axis] + 1;
      number = number * static_cast<std::uint64_t>(files) + static_cast<std::uint64_t>(place[axis]);
    }
    return number;
  }

  void fill(std::span<std::byte> out) const {
    detail::fill_voxels(array_.fill, array_.type.size(), out.data(), out.size());
  }

  /// Files, of the first million that are read, must stay as they were then: their indexes are
  /// kept, and a cache has other chunks of them.
  void require_same(const std::vector<std::int64_t>& place, const std::string& key,
                    const detail::FileStamp& now) const {
    Seen& seen = *seen_;
    const std::lock_guard lock(seen.mutex);
    const std::uint64_t number = number_of(place);
    if (const auto first = seen.files.find(number); first == seen.files.end()) {
      if (seen.files.size() < detail::most_index_bytes / seen_bytes)
        seen.files.emplace(number, now);
    } else if (first->second != now) {
      detail::require_unchanged(name() + "/" + key, first->second, now);
    }
  }

  /// A chunk may be missing, but not all of the array.
  void require_store() const {
    for (const char* file : detail::zarr_metadata_files)
      if (folder_.open(file)) return;
    throw DataError("the array's folder must stay where it was, its metadata are gone");
  }

  StoreFolder folder_;
  ZarrArray array_;
  detail::ArrayAxes axes_;
  detail::BoxLayout layout_;
  std::vector<std::int64_t> counts_;  // chunks of a file along each axis
  std::size_t chunks_;                // of a file
  mutable detail::KeptIndexes indexes_;
  static constexpr std::size_t seen_bytes = 64;  // with what the container needs
  struct Seen {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, detail::FileStamp> files;  // by number
  };
  detail::PerProcess<Seen> seen_;
};

}  // namespace

bool is_zarr(const std::filesystem::path& folder) {
  return std::any_of(std::begin(detail::zarr_metadata_files), std::end(detail::zarr_metadata_files),
                     [&](const char* file) {
                       std::error_code error;
                       return std::filesystem::is_regular_file(folder / file, error);
                     });
}

std::shared_ptr<const Volume> open_zarr_volume(const std::filesystem::path& folder,
                                               const VolumeLimits& limits) {
  const std::string name = detail::printable(folder.native());
  const StoreFolder store(folder);
  detail::FoundZarr found = named(name, [&] { return detail::find_zarr(store, limits); });
  const detail::ArrayAxes axes = named(name, [&] { return axes_of(found); });
  const VolumeInfo info = info_of(found, axes);
  check_volume(info, limits, name);
  return named(name, [&] {
    bounded_product(found.array.chunk, limits.block_bytes / found.array.type.size(),
                    "voxels in a chunk that is decoded at once");
    return std::make_shared<const ZarrVolume>(info, name, std::move(found), axes, limits);
  });
}

}  // namespace headrace::inline v1
