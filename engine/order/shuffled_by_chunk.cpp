#include <headrace/engine/base/internal/divider.h>
#include <headrace/engine/order/detail/feistel.h>
#include <headrace/engine/order/detail/pass_stream.h>
#include <headrace/engine/order/order.h>

#include <algorithm>
#include <array>

namespace headrace::inline v1 {

namespace {

/// The chunks of a pass in their order. Full chunks are permuted; the short chunk at the end of the
/// records, where there is one, stands at a slot drawn for the pass.
class ChunkOrder {
 public:
  ChunkOrder(std::int64_t records, std::int64_t chunk, const detail::PermutationKey& key)
      : chunk_(chunk),
        full_(records / chunk),
        tail_(records % chunk),
        tail_slot_(tail_ > 0 ? draw_slot(key) : full_),
        by_chunk_(static_cast<std::uint64_t>(chunk)),
        permutation_(static_cast<std::uint64_t>(std::max<std::int64_t>(full_, 1)), key) {}

  std::int64_t slots() const noexcept { return full_ + (tail_ > 0 ? 1 : 0); }
  /// First place of a slot.
  std::int64_t start(std::int64_t slot) const noexcept {
    return slot * chunk_ - (slot > tail_slot_ ? gap() : 0);
  }
  /// Slot of a place.
  std::int64_t slot(std::int64_t place) const noexcept {
    const bool beyond = tail_ > 0 && place >= start(tail_slot_) + tail_;
    return static_cast<std::int64_t>(
        by_chunk_(static_cast<std::uint64_t>(place + (beyond ? gap() : 0))));
  }
  /// First record of the chunk at a slot.
  std::int64_t record(std::int64_t slot) const noexcept {
    if (tail_ > 0 && slot == tail_slot_) return full_ * chunk_;
    const auto rank = static_cast<std::uint64_t>(slot > tail_slot_ ? slot - 1 : slot);
    return static_cast<std::int64_t>(permutation_(rank)) * chunk_;
  }

 private:
  std::int64_t draw_slot(const detail::PermutationKey& key) const noexcept {
    const auto slots = static_cast<std::uint64_t>(full_ + 1);
    return static_cast<std::int64_t>(detail::scale(detail::mix64(~key.mixed()), slots));
  }
  std::int64_t gap() const noexcept { return tail_ > 0 ? chunk_ - tail_ : 0; }

  std::int64_t chunk_;
  std::int64_t full_;
  std::int64_t tail_;
  std::int64_t tail_slot_;
  detail::Divider by_chunk_;
  detail::Feistel permutation_;
};

/// The records of a few slots, so that a chunk is looked up once and not for each of its rows.
class KnownRecords {
 public:
  explicit KnownRecords(const ChunkOrder& chunks) noexcept : chunks_(chunks) { slots_.fill(-1); }

  /// First record of the chunk at a slot.
  std::int64_t operator()(std::int64_t slot) noexcept {
    const auto place = static_cast<std::size_t>(slot) % slots_.size();
    if (slots_[place] != slot) {
      slots_[place] = slot;
      records_[place] = chunks_.record(slot);
    }
    return records_[place];
  }

 private:
  const ChunkOrder& chunks_;
  std::array<std::int64_t, 64> slots_{};
  std::array<std::int64_t, 64> records_{};
};

class ChunkedStream final : public detail::PassStream {
 public:
  ChunkedStream(const ShuffledByChunk& order, std::int64_t records)
      : PassStream(records, order.epoch_size),
        seed_(order.seed),
        chunk_(std::min(order.chunk, records)),
        window_(std::min(order.window, (records + chunk_ - 1) / chunk_)) {}

  std::uint64_t seed() const noexcept override { return seed_; }
  std::string describe() const override {
    return "shuffled by chunks of " + std::to_string(chunk_) + " in windows of " +
           std::to_string(window_) + " (seed " + std::to_string(seed_) + ")" +
           detail::describe_length(records(), length());
  }

 private:
  void fill(Pass pass, std::int64_t first, std::span<std::int64_t> out) const override {
    const ChunkOrder chunks(records(), chunk_, key(pass, 2));
    KnownRecords first_record(chunks);
    while (!out.empty()) {
      const std::int64_t window = chunks.slot(first) / window_;
      const std::int64_t begin = chunks.start(window * window_);
      const std::int64_t end =
          std::min(records(), chunks.start(std::min((window + 1) * window_, chunks.slots())));
      const auto count = std::min(out.size(), static_cast<std::size_t>(end - first));
      const detail::Feistel inside(static_cast<std::uint64_t>(end - begin),
                                   key(pass, 3 + static_cast<std::uint64_t>(window)));
      inside(static_cast<std::uint64_t>(first - begin), out.first(count));
      for (std::int64_t& value : out.first(count)) {
        const std::int64_t place = begin + value;
        const std::int64_t slot = chunks.slot(place);
        value = first_record(slot) + place - chunks.start(slot);
      }
      first += static_cast<std::int64_t>(count);
      out = out.subspan(count);
    }
  }

  detail::PermutationKey key(Pass pass, std::uint64_t salt) const noexcept {
    return {.seed = seed_, .epoch = pass.epoch, .pass = pass.number, .salt = salt};
  }

  std::uint64_t seed_;
  std::int64_t chunk_;
  std::int64_t window_;
};

}  // namespace

std::shared_ptr<const IndexStream> ShuffledByChunk::bind(std::int64_t records) const {
  detail::check_order("ShuffledByChunk", records, epoch_size);
  if (chunk < 1 || window < 1) {
    throw ConfigError("[order] ShuffledByChunk: chunk and window are at least 1, got " +
                      std::to_string(chunk) + " and " + std::to_string(window));
  }
  return std::make_shared<ChunkedStream>(*this, records);
}

}  // namespace headrace::inline v1
