#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <headrace/loaders/hdf5/detail/field_reader.h>
#include <headrace/loaders/hdf5/detail/scratch_pool.h>
#include <headrace/loaders/memory/detail/chunk_cache.h>

namespace headrace::inline v1::detail {
namespace {

/// A part of a row that is to be copied out of a chunk.
struct Item {
  std::size_t chunk;
  const std::byte* from;  ///< null while the chunk is not there
  std::size_t offset;
  std::size_t k;  ///< of the gather
  std::size_t piece;
};

/// Chunks that this gather has pinned; a chunk that comes again soon is found without touching the
/// cache.
class Pins {
 public:
  explicit Pins(ChunkCache& cache) : cache_(cache) { recent_.fill({none, nullptr}); }
  ~Pins() { release(); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  const std::byte* find(std::size_t chunk) {
    Recent& recent = recent_[chunk % recent_.size()];
    if (recent.chunk == chunk) return recent.data;
    const std::byte* data = cache_.try_pin(chunk);
    if (data == nullptr) return nullptr;
    pinned_.push_back(chunk);
    recent = {chunk, data};
    return data;
  }
  void release() noexcept {
    for (const std::size_t chunk : pinned_)
      cache_.unpin(chunk);
    pinned_.clear();
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct Recent {
    std::size_t chunk;
    const std::byte* data;
  };
  ChunkCache& cache_;
  std::array<Recent, 256> recent_;
  std::vector<std::size_t> pinned_;
};

class ChunkedField final : public FieldReader {
 public:
  ChunkedField(std::shared_ptr<const Hdf5File> file, const Hdf5Dataset& dataset, std::size_t memory)
      : file_(std::move(file)),
        dataset_(dataset),
        grid_(dataset_.chunks->grid),
        cache_({grid_.chunks(), grid_.chunk_bytes(), memory},
               [this](std::size_t chunk, std::span<std::byte> out) {
                 read_chunk(*file_, dataset_, chunk, out, *scratches_.take());
               }) {
    const auto& places = dataset_.chunks->places;
    const bool sparse =
        std::ranges::any_of(places, [](const ChunkPlace& place) { return place.bytes == 0; });
    if (!sparse) return;
    unwritten_.resize(grid_.chunk_bytes());
    dataset_.chunks->fill_chunk(unwritten_);
  }

  void gather(std::span<const std::int64_t> indices, const RowTargets& out) const override {
    const auto items = items_.take();
    items->clear();
    const std::size_t pieces = grid_.pieces();
    for (std::size_t k = 0; k < indices.size(); ++k) {
      ChunkGrid::Place place = grid_.place(indices[k]);
      for (std::size_t piece = 0; piece < pieces; ++piece, ++place.chunk)
        items->push_back({place.chunk, nullptr, place.offset, k, piece});
    }
    copy_present(*items, out);
    if (items->empty()) return;
    announce(*items);
    copy_missing(*items, out);
    file_->require_unchanged();
  }

  std::size_t bytes() const override {
    return cache_.bytes() + unwritten_.size() + dataset_.chunks->places.size() * sizeof(ChunkPlace);
  }

 private:
  /// Copies what is in memory already; the other items stay, in the order of their chunks.
  void copy_present(std::vector<Item>& items, const RowTargets& out) const {
    constexpr std::size_t ahead = 8;
    Pins pins(cache_);
    const auto look_up = [&](Item& item) {
      const bool fill = !unwritten_.empty() && dataset_.chunks->unwritten(item.chunk);
      const std::byte* chunk = fill ? unwritten_.data() : pins.find(item.chunk);
      if (chunk == nullptr) return;
      item.from = chunk + item.offset;
      for (std::size_t line = 0; line < std::min<std::size_t>(dataset_.row_bytes, 1024); line += 64)
        __builtin_prefetch(item.from + line, 0, 3);
    };
    const std::size_t count = items.size();
    for (std::size_t i = 0; i < std::min(ahead, count); ++i)
      look_up(items[i]);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + ahead < count) look_up(items[i + ahead]);
      if (items[i].from != nullptr) copy(items[i], out);
    }
    std::erase_if(items, [](const Item& item) { return item.from != nullptr; });
    std::ranges::stable_sort(items, {}, &Item::chunk);
  }

  /// Tells the system which chunks are read next, so that a cold disk works on several.
  void announce(const std::vector<Item>& items) const {
    std::size_t last = ~std::size_t{0};
    for (const Item& item : items) {
      if (item.chunk == last) continue;
      if (last != ~std::size_t{0} || item.chunk != items.back().chunk) {
        const ChunkPlace& place = dataset_.chunks->places[item.chunk];
        ::posix_fadvise(file_->descriptor(), static_cast<off_t>(place.offset), place.bytes,
                        POSIX_FADV_WILLNEED);
      }
      last = item.chunk;
    }
  }

  /// Decodes what nobody else is decoding; waits for the others' at the end. Holds one chunk at a
  /// time, so that a small cache cannot lock up.
  void copy_missing(const std::vector<Item>& items, const RowTargets& out) const {
    std::vector<std::span<const Item>> others;
    for (std::size_t first = 0, last = 0; first < items.size(); first = last) {
      last = first + 1;
      while (last < items.size() && items[last].chunk == items[first].chunk)
        ++last;
      const std::span<const Item> same(items.data() + first, last - first);
      const std::byte* chunk = cache_.pin_or_make(same.front().chunk);
      if (chunk == nullptr) {
        others.push_back(same);
      } else {
        copy_from(chunk, same, out);
      }
    }
    for (const std::span<const Item> same : others)
      copy_from(cache_.pin(same.front().chunk), same, out);
  }

  void copy_from(const std::byte* chunk, std::span<const Item> items, const RowTargets& out) const {
    for (Item item : items) {
      item.from = chunk + item.offset;
      copy(item, out);
    }
    cache_.unpin(items.front().chunk);
  }

  void copy(const Item& item, const RowTargets& out) const {
    std::byte* row = out.row(item.k);
    if (grid_.whole_rows()) {
      std::memcpy(row, item.from, dataset_.row_bytes);
    } else {
      grid_.copy_piece(item.piece, item.from, row);
    }
  }

  std::shared_ptr<const Hdf5File> file_;
  Hdf5Dataset dataset_;
  ChunkGrid grid_;
  mutable ScratchPool<CodecScratch> scratches_;
  mutable ScratchPool<std::vector<Item>> items_;
  std::vector<std::byte> unwritten_;  ///< a chunk of the fill value
  mutable ChunkCache cache_;
};

}  // namespace

std::unique_ptr<FieldReader> make_chunked_field(std::shared_ptr<const Hdf5File> file,
                                                const Hdf5Dataset& dataset, std::size_t memory) {
  return std::make_unique<ChunkedField>(std::move(file), dataset, memory);
}

}  // namespace headrace::inline v1::detail
