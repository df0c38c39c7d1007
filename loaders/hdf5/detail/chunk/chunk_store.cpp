#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>
#include <headrace/loaders/hdf5/detail/library/library_budget.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <algorithm>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

/// A chunk that was never written costs the library an error with all its text.
constexpr std::size_t look_up_work = 100;

std::span<const std::byte> read_stored(const DataFile& file, const ChunkPlace& place,
                                       CodecScratch& scratch) {
  const std::span<std::byte> stored = scratch.stored.take(place.bytes);
  file.read(stored.data(), stored.size(), place.offset);
  return stored;
}

void read_and_decode(const DataFile& file, const ChunkStore& store, std::size_t chunk,
                     std::span<std::byte> out, CodecScratch& scratch) {
  const ChunkPlace& place = store.places[chunk];
  if (!store.codec.filtered()) {
    file.read(out.data(), out.size(), place.offset);
    return;
  }
  store.codec.decode(read_stored(file, place, scratch), store.skipped(chunk, place), out, scratch);
}

}  // namespace

std::vector<ChunkPlace> ChunkIndexes::places(const H5::DataSet& data, const ChunkGrid& grid,
                                             const std::string& key) {
  if (!keep_ || grid.chunks() < least_kept) return index_chunks({file_, data, grid});
  if (!saved_) saved_.emplace(file_.path(), file_.identity());
  const ChunkedData in{file_, data, grid};
  const auto place_of = [&](std::size_t chunk) {
    return find_chunks(in, {chunk, chunk + 1}).front();
  };
  if (const auto* found = saved_->find(key, grid.chunks()); found && agrees(*found, place_of))
    return *found;
  expect_work(grid.chunks() * look_up_work, 0);
  std::vector<ChunkPlace> built = index_chunks(in);
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

void read_chunk(const DataFile& file, const Hdf5Dataset& dataset, std::size_t chunk,
                std::span<std::byte> out, CodecScratch& scratch) {
  const ChunkStore& store = *dataset.chunks;
  if (store.unwritten(chunk)) return store.fill_chunk(out);
  try {
    read_and_decode(file, store, chunk, out, scratch);
  } catch (const DataError& error) {
    fail_chunk(file, dataset.path, store.grid.name(chunk), error);
  }
  normalise(out.data(), out.size() / size_of(dataset.dtype), dataset.dtype, dataset.swap);
}

ChunkCodec::Apart read_chunk_apart(const DataFile& file, const Hdf5Dataset& dataset,
                                   std::size_t chunk, CodecScratch& scratch) {
  const ChunkStore& store = *dataset.chunks;
  try {
    const ChunkPlace& place = store.places[chunk];
    return store.codec.decode_apart(read_stored(file, place, scratch), store.skipped(chunk, place),
                                    dataset.row_bytes, scratch);
  } catch (const DataError& error) {
    fail_chunk(file, dataset.path, store.grid.name(chunk), error);
  }
}

void fail_chunk(const DataFile& file, const std::string& dataset, const std::string& chunk,
                const DataError& error) {
  throw DataError(printable(file.path().native()) + ": dataset \"" + printable(dataset) +
                  "\", chunk at " + chunk + ": " + error.what());
}

}  // namespace headrace::inline v1::detail
