#include <headrace/loaders/hdf5/detail/chunk_store.h>

#include <algorithm>
#include <cstring>

#include <headrace/engine/error.h>
#include <headrace/loaders/hdf5/detail/hdf5_dataset.h>

namespace headrace::inline v1::detail {
namespace {

/// "[3, 0]": the chunk's place among the chunks.
std::string name_of_chunk(const ChunkGrid& grid, std::size_t chunk) {
  const ChunkGrid::Coordinates first = grid.origin(chunk);
  std::string text;
  for (std::size_t axis = 0; axis < grid.rank(); ++axis)
    text += (axis == 0 ? "[" : ", ") + std::to_string(first[axis]);
  return text + "]";
}

/// Filters that were not applied to a chunk.
std::uint32_t skipped_filters(const ChunkStore& store, std::size_t chunk) noexcept {
  const bool raw = store.raw_edges && store.grid.partial(chunk);
  return raw ? ~std::uint32_t{0} : store.places[chunk].skipped;
}

std::span<const std::byte> read_stored(const Hdf5File& file, const ChunkPlace& place,
                                       CodecScratch& scratch) {
  const std::span<std::byte> stored = scratch.stored.take(place.bytes);
  file.read(stored.data(), stored.size(), place.offset);
  return stored;
}

void read_and_decode(const Hdf5File& file, const ChunkStore& store, std::size_t chunk,
                     std::span<std::byte> out, CodecScratch& scratch) {
  const ChunkPlace& place = store.places[chunk];
  if (!store.codec.filtered()) {
    file.read(out.data(), out.size(), place.offset);
    return;
  }
  store.codec.decode(read_stored(file, place, scratch), skipped_filters(store, chunk), out,
                     scratch);
}

[[noreturn]] void fail_chunk(const Hdf5File& file, const Hdf5Dataset& dataset, std::size_t chunk,
                             const DataError& error) {
  throw DataError(file.path().string() + ": dataset \"" + dataset.path + "\", chunk at " +
                  name_of_chunk(dataset.chunks->grid, chunk) + ": " + error.what());
}

}  // namespace

std::vector<ChunkPlace> ChunkIndexes::places(const H5::DataSet& data, const ChunkGrid& grid,
                                             const std::string& key) {
  if (!keep_ || grid.chunks() < least_kept) return index_chunks(file_, data, grid);
  if (!saved_) saved_.emplace(file_.path(), file_.identity());
  if (const auto* found = saved_->find(key, grid.chunks())) return *found;
  std::vector<ChunkPlace> built = index_chunks(file_, data, grid);
  saved_->put(key, built);
  return built;
}

void ChunkStore::fill_chunk(std::span<std::byte> out) const noexcept {
  const bool zero = std::ranges::all_of(fill, [](std::byte byte) { return byte == std::byte{0}; });
  if (zero) {
    std::memset(out.data(), 0, out.size());
    return;
  }
  std::size_t done = std::min(fill.size(), out.size());
  std::memcpy(out.data(), fill.data(), done);
  while (done < out.size()) {
    const std::size_t now = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), now);
    done += now;
  }
}

void read_chunk(const Hdf5File& file, const Hdf5Dataset& dataset, std::size_t chunk,
                std::span<std::byte> out, CodecScratch& scratch) {
  const ChunkStore& store = *dataset.chunks;
  if (store.unwritten(chunk)) return store.fill_chunk(out);
  try {
    read_and_decode(file, store, chunk, out, scratch);
  } catch (const DataError& error) {
    fail_chunk(file, dataset, chunk, error);
  }
  normalise(out.data(), out.size() / size_of(dataset.dtype), dataset.dtype, dataset.swap);
}

ChunkCodec::Apart read_chunk_apart(const Hdf5File& file, const Hdf5Dataset& dataset,
                                   std::size_t chunk, CodecScratch& scratch) {
  const ChunkStore& store = *dataset.chunks;
  try {
    return store.codec.decode_apart(read_stored(file, store.places[chunk], scratch),
                                    skipped_filters(store, chunk), dataset.row_bytes, scratch);
  } catch (const DataError& error) {
    fail_chunk(file, dataset, chunk, error);
  }
}

}  // namespace headrace::inline v1::detail
