#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_cache.h>
#include <headrace/loaders/hdf5/detail/chunk/missing_items.h>
#include <headrace/loaders/hdf5/detail/table/field_reader.h>
#include <headrace/loaders/hdf5/internal/unshuffle.h>
#include <headrace/loaders/internal/scratch_pool.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace headrace::inline v1::detail {
namespace {

/// A part of a row that is to be copied out of a chunk in memory.
struct Found {
  const std::byte* from;
  std::uint32_t k;
  std::uint32_t piece;
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
    pinned_.push_back(chunk);  // first: without memory for it the pin would stay
    const std::byte* data = cache_.try_pin(chunk);
    if (data == nullptr) {
      pinned_.pop_back();
      return nullptr;
    }
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

/// The chunks of many datasets, numbered one after another.
class ChunkPool {
 public:
  ChunkPool(std::vector<ChunkedPart> parts, std::size_t memory) : parts_(std::move(parts)) {
    ChunkCache::Sizes sizes;
    for (const ChunkedPart& part : parts_) {
      const ChunkGrid& grid = part.dataset.chunks->grid;
      first_.push_back(sizes.chunks);
      sizes.chunks += grid.chunks();
      sizes.chunk_bytes = std::max(sizes.chunk_bytes, grid.chunk_bytes());
    }
    sizes.most_bytes = memory - std::min(memory, make_unwritten(memory));
    cache_ = std::make_unique<PerProcess<ChunkCache>>([this, sizes] {
      return std::make_unique<ChunkCache>(
          sizes, [this](std::size_t chunk, std::span<std::byte> out) { make(chunk, out); });
    });
  }

  const ChunkedPart& part(std::size_t number) const noexcept { return parts_[number]; }
  std::size_t first(std::size_t number) const noexcept { return first_[number]; }
  ChunkCache& cache() { return **cache_; }
  /// A chunk of the fill value; null where chunks that were not written are made as others are.
  const std::byte* unwritten(std::size_t number) const noexcept {
    const ChunkStore& store = *parts_[number].dataset.chunks;
    const bool same = store.fill == fill_ && store.grid.chunk_bytes() <= unwritten_.size();
    return same ? unwritten_.data() : nullptr;
  }
  std::size_t bytes() { return cache().bytes() + unwritten_.size(); }

  ScratchPool<CodecScratch> scratches;
  ScratchPool<MissingItems> missing;
  std::atomic<std::uint64_t> unpacked{0};
  std::atomic<std::uint64_t> used{0};

 private:
  void make(std::size_t chunk, std::span<std::byte> out) {
    const auto after = std::ranges::upper_bound(first_, chunk);
    const auto number = static_cast<std::size_t>(after - first_.begin()) - 1;
    const auto& [file, dataset] = parts_[number];
    const std::span<std::byte> own = out.first(dataset.chunks->grid.chunk_bytes());
    read_chunk(*file, dataset, chunk - first_[number], own, *scratches.take());
    unpacked.fetch_add(own.size(), std::memory_order_relaxed);
  }

  /// One is kept for the first dataset that has some, and for those of its like.
  std::size_t make_unwritten(std::size_t memory) {
    for (const ChunkedPart& part : parts_) {
      const ChunkStore& store = *part.dataset.chunks;
      const bool sparse = std::ranges::any_of(
          store.places, [](const ChunkPlace& place) { return place.bytes == 0; });
      if (!sparse || 2 * store.grid.chunk_bytes() > memory) continue;
      fill_ = store.fill;
      unwritten_.resize(store.grid.chunk_bytes());
      store.fill_chunk(unwritten_);
      break;
    }
    return unwritten_.size();
  }

  std::vector<ChunkedPart> parts_;
  std::vector<std::size_t> first_;  ///< chunk of each part
  std::vector<std::byte> fill_, unwritten_;
  std::unique_ptr<PerProcess<ChunkCache>> cache_;
};

class ChunkedField final : public FieldReader {
 public:
  ChunkedField(std::shared_ptr<ChunkPool> pool, std::size_t number)
      : pool_(std::move(pool)),
        file_(pool_->part(number).file),
        dataset_(pool_->part(number).dataset),
        grid_(dataset_.chunks->grid),
        tells_(number == 0),
        first_(pool_->first(number)),
        unwritten_(pool_->unwritten(number)) {}

  void gather(std::span<const std::int64_t> indices, const RowTargets& out) const override {
    pool_->used.fetch_add(indices.size() * dataset_.row_bytes, std::memory_order_relaxed);
    const auto missing = pool_->missing.take();
    missing->clear();
    copy_present(indices, *missing, out);
    if (missing->empty()) return;
    missing->arrange();
    announce(missing->groups());
    copy_missing(*missing, out);
    file_->require_unchanged();
  }

  Hdf5ChunkReads chunk_reads() const noexcept override {
    if (!tells_) return {};
    return {.bytes_unpacked = pool_->unpacked.load(std::memory_order_relaxed),
            .bytes_used = pool_->used.load(std::memory_order_relaxed)};
  }

  std::size_t bytes() const override { return tells_ ? pool_->bytes() : 0; }

 private:
  /// Copies what is in memory already and notes what is not.
  void copy_present(std::span<const std::int64_t> indices, MissingItems& missing,
                    const RowTargets& out) const {
    constexpr std::size_t ahead = 16, most_prefetched = 1024;
    const std::size_t prefetched = std::min(dataset_.row_bytes, most_prefetched);
    std::array<Found, ahead> found{};
    std::size_t count = 0;
    Pins pins(pool_->cache());
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const ChunkGrid::Place place = grid_.place(indices[k]);
      for (std::size_t piece = 0; piece < grid_.pieces(); ++piece) {
        const std::size_t chunk = place.chunk + piece;
        const ChunkItem item{place.offset, static_cast<std::uint32_t>(k),
                             static_cast<std::uint32_t>(piece)};
        const bool fill = unwritten_ != nullptr && dataset_.chunks->unwritten(chunk);
        const std::byte* data = fill ? unwritten_ : pins.find(first_ + chunk);
        if (data == nullptr) {
          missing.add(chunk, item);
          continue;
        }
        Found& next = found[count++ % ahead];
        if (count > ahead) copy(next.from, next.k, next.piece, out);
        next = {data + item.offset, item.k, item.piece};
        for (std::size_t line = 0; line < prefetched; line += 64)
          __builtin_prefetch(next.from + line, 0, 3);
      }
    }
    for (std::size_t i = count - std::min(count, ahead); i < count; ++i)
      copy(found[i % ahead].from, found[i % ahead].k, found[i % ahead].piece, out);
  }

  /// Tells the system which chunks are read next, so that a cold disk works on several.
  void announce(std::span<const MissingItems::Group> groups) const {
    if (groups.size() < 2) return;
    for (const MissingItems::Group& group : groups) {
      const ChunkPlace& place = dataset_.chunks->places[group.chunk];
      ::posix_fadvise(file_->descriptor(), static_cast<off_t>(place.offset), place.bytes,
                      POSIX_FADV_WILLNEED);
    }
  }

  /// Decodes what nobody else is decoding; waits for the others' at the end. Holds one chunk at a
  /// time, so that a small cache cannot lock up.
  void copy_missing(const MissingItems& missing, const RowTargets& out) const {
    ChunkCache& cache = pool_->cache();
    std::vector<MissingItems::Group> others;
    for (const MissingItems::Group& group : missing.groups()) {
      if (is_for_once(group)) {
        copy_decoded(group.chunk, missing.items(group), out);
        continue;
      }
      const std::byte* chunk = cache.pin_or_make(first_ + group.chunk);
      if (chunk == nullptr) {
        others.push_back(group);
        continue;
      }
      copy_from(chunk, missing.items(group), out);
      cache.unpin(first_ + group.chunk);
    }
    for (const MissingItems::Group& group : others) {
      copy_from(cache.pin(first_ + group.chunk), missing.items(group), out);
      cache.unpin(first_ + group.chunk);
    }
  }

  /// Whether a chunk shall not be kept: all its rows go out now, and another would have to leave.
  bool is_for_once(const MissingItems::Group& group) const noexcept {
    return grid_.whole_rows() && static_cast<std::int64_t>(group.count) >= grid_.chunk_rows() &&
           !dataset_.chunks->unwritten(group.chunk) && pool_->cache().full();
  }

  /// Decodes a chunk past the cache: it stays in the processor's, and elements are joined row by
  /// row on their way out.
  void copy_decoded(std::size_t chunk, std::span<const ChunkItem> items,
                    const RowTargets& out) const {
    const auto scratch = pool_->scratches.take();
    const auto [bytes, element] = read_chunk_apart(*file_, dataset_, chunk, *scratch);
    pool_->unpacked.fetch_add(bytes.size(), std::memory_order_relaxed);
    for (const ChunkItem& item : items) {
      std::byte* row = out.row(item.k);
      if (element == 1) {
        std::memcpy(row, bytes.data() + item.offset, dataset_.row_bytes);
      } else {
        unshuffle(bytes, element, item.offset / element, dataset_.row_bytes / element, row);
      }
      normalise(row, dataset_.elements(1), dataset_.dtype, dataset_.swap);
    }
  }

  void copy_from(const std::byte* chunk, std::span<const ChunkItem> items,
                 const RowTargets& out) const {
    for (const ChunkItem& item : items)
      copy(chunk + item.offset, item.k, item.piece, out);
  }

  void copy(const std::byte* from, std::size_t k, std::size_t piece, const RowTargets& out) const {
    std::byte* row = out.row(k);
    if (grid_.whole_rows()) {
      std::memcpy(row, from, dataset_.row_bytes);
    } else {
      grid_.copy_piece(piece, from, row);
    }
  }

  std::shared_ptr<ChunkPool> pool_;
  std::shared_ptr<const DataFile> file_;
  Hdf5Dataset dataset_;
  ChunkGrid grid_;
  bool tells_;                  ///< of the whole pool
  std::size_t first_;           ///< number of its first chunk in the pool
  const std::byte* unwritten_;  ///< a chunk of the fill value, or null
};

}  // namespace

std::vector<std::unique_ptr<FieldReader>> make_chunked_fields(std::vector<ChunkedPart> parts,
                                                              std::size_t memory) {
  std::vector<std::unique_ptr<FieldReader>> fields;
  const std::size_t count = parts.size();
  const auto pool = std::make_shared<ChunkPool>(std::move(parts), memory);
  for (std::size_t number = 0; number < count; ++number)
    fields.push_back(std::make_unique<ChunkedField>(pool, number));
  return fields;
}

}  // namespace headrace::inline v1::detail
