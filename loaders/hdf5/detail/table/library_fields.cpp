#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/hdf5/detail/table/field_reader.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// Readers of many datasets, of which as many stay open as the memory holds, one at least: the one
/// that was not used for longest goes first.
class LibraryPool {
 public:
  LibraryPool(std::vector<LibraryPart> parts, std::size_t memory)
      : parts_(std::move(parts)),
        memory_(memory),
        opened_([this] { return std::make_unique<Opened>(parts_.size()); }) {}

  /// The reader of a dataset; it stays while somebody has it.
  std::shared_ptr<LibraryReader> reader(std::size_t part) {
    Opened& opened = *opened_;
    const std::lock_guard lock(opened.mutex);
    Slot& slot = opened.slots[part];
    slot.used = ++opened.uses;
    if (!slot.reader) {
      slot.reader = open(parts_[part]);
      slot.bytes = slot.reader->bytes();
      opened.bytes += slot.bytes;
      while (opened.bytes > memory_ && close_oldest(opened, slot)) {
      }
    }
    return slot.reader;
  }

  /// What the readers take that are open at one time, at most.
  std::size_t bytes() {
    std::size_t sum = 0, largest = 0;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const std::size_t bytes = reader(part)->bytes();
      sum += bytes;
      largest = std::max(largest, bytes);
    }
    return std::min(sum, std::max(memory_, largest));
  }

 private:
  struct Slot {
    std::shared_ptr<LibraryReader> reader{};
    std::size_t bytes = 0;
    std::uint64_t used = 0;
  };
  struct Opened {
    explicit Opened(std::size_t parts) : slots(parts) {}
    std::mutex mutex;
    std::vector<Slot> slots;
    std::size_t bytes = 0;
    std::uint64_t uses = 0;
  };

  std::unique_ptr<LibraryReader> open(const LibraryPart& part) const {
    constexpr std::size_t chunks_kept = 4;
    const std::size_t chunk = part.dataset.chunk_bytes;
    return part.library->reader(part.dataset,
                                std::min(chunk * chunks_kept, std::max(memory_, chunk)));
  }

  static bool close_oldest(Opened& opened, const Slot& but) {
    Slot* oldest = nullptr;
    for (Slot& slot : opened.slots)
      if (slot.reader && &slot != &but && (oldest == nullptr || slot.used < oldest->used))
        oldest = &slot;
    if (oldest == nullptr) return false;
    oldest->reader.reset();
    opened.bytes -= oldest->bytes;
    return true;
  }

  std::vector<LibraryPart> parts_;
  std::size_t memory_;
  PerProcess<Opened> opened_;
};

class LibraryField final : public FieldReader {
 public:
  LibraryField(std::shared_ptr<LibraryPool> pool, std::size_t part)
      : pool_(std::move(pool)), part_(part), bytes_(part == 0 ? pool_->bytes() : 0) {}

  void gather(std::span<const std::int64_t> indices, const RowTargets& out) const override {
    pool_->reader(part_)->read(sorted_rows(indices, out));
  }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<LibraryPool> pool_;
  std::size_t part_;
  std::size_t bytes_;  ///< of all of the pool, told by the first
};

}  // namespace

std::vector<std::unique_ptr<FieldReader>> make_library_fields(std::vector<LibraryPart> parts,
                                                              std::size_t memory) {
  std::vector<std::unique_ptr<FieldReader>> fields;
  const std::size_t count = parts.size();
  const auto pool = std::make_shared<LibraryPool>(std::move(parts), memory);
  for (std::size_t part = 0; part < count; ++part)
    fields.push_back(std::make_unique<LibraryField>(pool, part));
  return fields;
}

}  // namespace headrace::inline v1::detail
