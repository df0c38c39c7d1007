#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_guard.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <algorithm>

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

}  // namespace headrace::inline v1::detail
