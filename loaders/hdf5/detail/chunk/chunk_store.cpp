#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>
#include <headrace/loaders/hdf5/detail/library/library_budget.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace headrace::inline v1::detail {

ChunkGuard::ChunkGuard(const Hdf5File& file, const Hdf5Dataset& dataset)
    : file_(file), path_(dataset.path), store_(dataset.guarded) {}

void ChunkGuard::require(std::size_t chunk, const ChunkPlace& place) const {
  const bool plain = store_->codec.is_plain(store_->skipped(chunk, place));
  require_place(place, file_.size(), plain ? store_->grid.chunk_bytes() : 0,
                store_->codec.most_stored());
}

void ChunkGuard::expect(const H5::DataSet& data, ChunkGrid::Range chunks) {
  expected_.clear();
  try {
    const std::vector<ChunkPlace> places = find_chunks({file_, data, store_->grid}, chunks);
    for (std::size_t i = 0; i < places.size(); ++i) {
      require(chunks.begin + i, places[i]);
      if (store_->codec.filtered() && places[i].bytes > 0)
        expected_.push_back({places[i], chunks.begin + i});
    }
  } catch (const DataError& error) {
    throw DataError(printable(file_.path().native()) + ": dataset \"" + printable(path_) + "\" " +
                    error.what());
  }
  std::ranges::sort(expected_, {}, [](const Expected& each) { return each.place.offset; });
}

void ChunkGuard::check(std::uint64_t offset, std::span<const std::byte> stored) {
  // Chunks of a hostile file may share a place.
  auto here = std::ranges::lower_bound(expected_, offset, {},
                                       [](const Expected& each) { return each.place.offset; });
  for (; here != expected_.end() && here->place.offset == offset; ++here) {
    const auto& [place, chunk] = *here;
    if (place.bytes != stored.size()) continue;
    if (!scratch_) scratch_ = std::make_unique<CodecScratch>();
    try {
      store_->codec.check(stored, store_->skipped(chunk, place), *scratch_);
    } catch (const DataError& error) {
      fail_chunk(file_, path_, store_->grid.name(chunk), error);
    }
  }
}

namespace {

/// Chunks that were never written are found by an error of the library; it need not be described
/// each time.
class SilentErrors {
 public:
  SilentErrors() {
    H5Eget_auto2(H5E_DEFAULT, &handler_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~SilentErrors() {
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, handler_, data_);
  }
  SilentErrors(const SilentErrors&) = delete;
  SilentErrors& operator=(const SilentErrors&) = delete;

 private:
  H5E_auto2_t handler_ = nullptr;
  void* data_ = nullptr;
};

/// Raw reads are noted while this lives.
class Recording {
 public:
  explicit Recording(RecordingDriver& driver) : driver_(driver) {
    driver_.take();
    driver_.start();
  }
  ~Recording() { driver_.stop(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  RecordingDriver& driver_;
};

}  // namespace

std::vector<ChunkPlace> find_chunks(const ChunkedData& in, ChunkGrid::Range chunks,
                                    std::size_t written) {
  std::vector<ChunkPlace> places(chunks.end - chunks.begin);
  const SilentErrors silent;
  const Recording recording(in.file.driver());
  std::size_t found = 0;
  for (std::size_t i = 0; i < places.size() && found < written; ++i) {
    const ChunkGrid::Coordinates first = in.grid.origin(chunks.begin + i);
    std::array<hsize_t, ChunkGrid::max_rank + 1> offset{};
    std::copy(first.begin(), first.end(), offset.begin());
    std::uint32_t skipped = 0;
    std::byte nothing{};
    if (H5Dread_chunk(in.data.getId(), H5P_DEFAULT, offset.data(), &skipped, &nothing) < 0) {
      in.file.driver().take();
      continue;
    }
    const auto extent = in.file.driver().take();
    if (!extent || extent->bytes == 0 || extent->bytes > UINT32_MAX)
      throw DataError("has a chunk whose place cannot be told; the file is damaged");
    places[i] = {extent->offset, static_cast<std::uint32_t>(extent->bytes), skipped};
    ++found;
  }
  return places;
}

std::vector<ChunkPlace> index_chunks(const ChunkedData& in) {
  hsize_t written = 0;
  const H5::DataSpace all = in.data.getSpace();
  if (H5Dget_num_chunks(in.data.getId(), all.getId(), &written) < 0)
    throw DataError("has a chunk index that cannot be read; the file is damaged");
  std::vector<ChunkPlace> places = find_chunks(in, in.grid.all(), written);
  const auto found =
      std::ranges::count_if(places, [](const ChunkPlace& place) { return place.bytes > 0; });
  if (static_cast<hsize_t>(found) != written) {
    throw DataError("has " + std::to_string(written) + " chunks in its index, of which " +
                    std::to_string(found) + " can be found; the file is damaged or truncated");
  }
  return places;
}

void require_place(const ChunkPlace& place, std::uint64_t file_bytes, std::size_t exact,
                   std::size_t most) {
  if (place.bytes == 0) return;
  if (place.offset > file_bytes || place.bytes > file_bytes - place.offset) {
    throw DataError("has a chunk of " + std::to_string(place.bytes) + " bytes at " +
                    std::to_string(place.offset) + " but the file has " +
                    std::to_string(file_bytes) + "; the file is truncated, copy it again");
  }
  if (place.bytes > most || (exact != 0 && place.bytes != exact)) {
    throw DataError("has a chunk stored in " + std::to_string(place.bytes) + " bytes where " +
                    (exact != 0 ? "exactly " : "at most ") +
                    std::to_string(exact != 0 ? exact : most) + " belong; the file is damaged");
  }
}

void require_places(const std::vector<ChunkPlace>& places, std::uint64_t file_bytes,
                    std::size_t exact, std::size_t most) {
  for (const ChunkPlace& place : places)
    require_place(place, file_bytes, exact, most);
}

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
