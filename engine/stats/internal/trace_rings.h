#pragma once

#include <headrace/engine/stats/trace.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::detail {

/// The newest events of one writer, who waits for nobody. Readers may look at any time: what was
/// being overwritten meanwhile they leave out.
class TraceRing {
 public:
  enum class Kind : std::uint8_t { span, admitted, collated, ready, delivered, dropped, counts };

  struct Event {
    Kind kind = Kind::span;
    std::uint16_t name = 0;
    std::uint32_t rows = 0;
    std::int64_t start = 0;
    std::int64_t duration = 0;
    std::int64_t batch = -1;
    std::int32_t epoch = 0;
    std::int32_t row = -1;
    std::int64_t index = -1;
  };

  /// `events` is a power of two.
  explicit TraceRing(std::size_t events)
      : mask_(events - 1), slots_(std::make_unique<Slot[]>(events)) {}

  void put(const Event& event) noexcept {
    const std::uint64_t at = written_.load(std::memory_order_relaxed);
    const Words words = packed(event);
    Slot& slot = slots_[at & mask_];
    // Release, each: who reads one of these reads behind it that the place was taken anew.
    for (std::size_t i = 0; i < slot.size(); ++i)
      slot[i].store(words[i], std::memory_order_release);
    written_.store(at + 1, std::memory_order_release);
  }

  /// Events so far.
  std::uint64_t written() const noexcept { return written_.load(std::memory_order_acquire); }
  /// Appends those from the `since`-th on that are still there, oldest first; gives the number of
  /// those that are not.
  std::int64_t read(std::uint64_t since, std::vector<Event>& into) const;

  static constexpr std::size_t event_bytes = 6 * sizeof(std::int64_t);

 private:
  using Words = std::array<std::int64_t, 6>;
  using Slot = std::array<std::atomic<std::int64_t>, 6>;
  static_assert(sizeof(Slot) == event_bytes);

  static Words packed(const Event& event) noexcept {
    const auto what = static_cast<std::int64_t>(event.kind) << 48 |
                      static_cast<std::int64_t>(event.name) << 32 | event.rows;
    const auto place = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(event.epoch)) << 32 |
        static_cast<std::uint32_t>(event.row));
    return {event.start, event.duration, what, event.batch, place, event.index};
  }
  static Event unpacked(const Slot& slot) noexcept;

  std::uint64_t mask_;
  std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<std::uint64_t> written_{0};
};

/// The rings of one loader: one for each of its threads, and one for what happens under its mutex.
/// Threads that saw them may write until the loader ends, so they live as long.
class TraceRings {
 public:
  TraceRings(int threads, std::size_t events);

  std::size_t events() const noexcept { return events_; }
  TraceRing& of(int thread) noexcept { return *rings_[static_cast<std::size_t>(thread)]; }
  TraceRing& marks() noexcept { return *rings_.back(); }

  /// A window begins.
  void begin();
  /// The window so far: spans, batches, counts and what was lost of them.
  void read(Trace& trace) const;

  /// What options ask for, as a power of two; throws ConfigError for nonsense.
  static std::size_t events_of(const TraceOptions& options);
  static std::size_t bytes(int threads, std::size_t events) noexcept {
    return (static_cast<std::size_t>(threads) + 1) * events * TraceRing::event_bytes;
  }

 private:
  void read_marks(Trace& trace) const;

  std::size_t events_;
  std::vector<std::unique_ptr<TraceRing>> rings_;
  std::int64_t from_ns_ = 0;
  std::vector<std::uint64_t> since_;  // of each ring
};

}  // namespace headrace::inline v1::detail
