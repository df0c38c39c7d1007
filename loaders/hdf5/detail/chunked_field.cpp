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
  const std::byte* from;  ///< null while the chunk is not there
  std::uint32_t k;        ///< of the gather
  std::uint32_t piece;
  std::uint32_t group;  ///< among the missing
};

/// Parts of rows whose chunks are not in memory, in groups of one chunk each. A chunk that comes
/// again after many others may get a second group, which then finds it in memory.
class MissingItems {
 public:
  struct Group {
    std::size_t chunk;
    std::uint32_t number;
    std::uint32_t count;
    std::uint32_t first;  ///< in items(), after arrange()
  };

  void clear() {
    noted_.clear();
    groups_.clear();
    recent_.fill({none, 0});
  }
  bool empty() const noexcept { return noted_.empty(); }

  void add(std::size_t chunk, Item item) {
    Recent& recent = recent_[chunk % recent_.size()];
    if (recent.chunk != chunk) {
      const auto number = static_cast<std::uint32_t>(groups_.size());
      recent = {chunk, number};
      groups_.push_back({chunk, number, 0, 0});
    }
    item.group = recent.group;
    ++groups_[item.group].count;
    noted_.push_back(item);
  }

  /// Puts the groups in the order of their chunks, and the items in that of the groups.
  void arrange() {
    std::ranges::sort(groups_, {},
                      [](const Group& group) { return std::pair(group.chunk, group.number); });
    next_.resize(groups_.size());
    std::uint32_t first = 0;
    for (Group& group : groups_) {
      group.first = next_[group.number] = first;
      first += group.count;
    }
    items_.resize(noted_.size());
    for (const Item& item : noted_)
      items_[next_[item.group]++] = item;
  }

  std::span<const Group> groups() const noexcept { return groups_; }
  std::span<const Item> items(const Group& group) const noexcept {
    return {items_.data() + group.first, group.count};
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct Recent {
    std::size_t chunk;
    std::uint32_t group;
  };
  std::vector<Item> noted_, items_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> next_;
  std::array<Recent, 1024> recent_;
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
    const auto missing = missing_.take();
    missing->clear();
    copy_present(indices, *missing, out);
    if (missing->empty()) return;
    missing->arrange();
    announce(missing->groups());
    copy_missing(indices, *missing, out);
    file_->require_unchanged();
  }

  std::size_t bytes() const override {
    return cache_.bytes() + unwritten_.size() + dataset_.chunks->places.size() * sizeof(ChunkPlace);
  }

 private:
  /// Copies what is in memory already and notes what is not.
  void copy_present(std::span<const std::int64_t> indices, MissingItems& missing,
                    const RowTargets& out) const {
    constexpr std::size_t ahead = 16, most_prefetched = 1024;
    const std::size_t pieces = grid_.pieces(), count = indices.size() * pieces;
    const std::size_t prefetched = std::min(dataset_.row_bytes, most_prefetched);
    std::array<Item, ahead> items{};
    Pins pins(cache_);
    const auto look_up = [&](std::size_t i) {
      const std::size_t k = i / pieces, piece = i % pieces;
      const ChunkGrid::Place place = grid_.place(indices[k], piece);
      const bool fill = !unwritten_.empty() && dataset_.chunks->unwritten(place.chunk);
      const std::byte* chunk = fill ? unwritten_.data() : pins.find(place.chunk);
      Item& item = items[i % ahead];
      item = {nullptr, static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(piece), 0};
      if (chunk == nullptr) return missing.add(place.chunk, item);
      item.from = chunk + place.offset;
      for (std::size_t line = 0; line < prefetched; line += 64)
        __builtin_prefetch(item.from + line, 0, 3);
    };
    for (std::size_t i = 0; i < count + ahead; ++i) {
      if (i >= ahead && items[i % ahead].from != nullptr) copy(items[i % ahead], out);
      if (i < count) {
        look_up(i);
      } else {
        items[i % ahead].from = nullptr;
      }
    }
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
  void copy_missing(std::span<const std::int64_t> indices, const MissingItems& missing,
                    const RowTargets& out) const {
    std::vector<MissingItems::Group> others;
    for (const MissingItems::Group& group : missing.groups()) {
      const std::byte* chunk = cache_.pin_or_make(group.chunk);
      if (chunk == nullptr) {
        others.push_back(group);
        continue;
      }
      copy_from(chunk, indices, missing.items(group), out);
      cache_.unpin(group.chunk);
    }
    for (const MissingItems::Group& group : others) {
      copy_from(cache_.pin(group.chunk), indices, missing.items(group), out);
      cache_.unpin(group.chunk);
    }
  }

  void copy_from(const std::byte* chunk, std::span<const std::int64_t> indices,
                 std::span<const Item> items, const RowTargets& out) const {
    for (Item item : items) {
      item.from = chunk + grid_.place(indices[item.k]).offset;
      copy(item, out);
    }
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
  mutable ScratchPool<MissingItems> missing_;
  std::vector<std::byte> unwritten_;  ///< a chunk of the fill value
  mutable ChunkCache cache_;
};

}  // namespace

std::unique_ptr<FieldReader> make_chunked_field(std::shared_ptr<const Hdf5File> file,
                                                const Hdf5Dataset& dataset, std::size_t memory) {
  return std::make_unique<ChunkedField>(std::move(file), dataset, memory);
}

}  // namespace headrace::inline v1::detail
