#pragma once

#include <headrace/engine/batch/internal/loan.h>
#include <headrace/engine/loader/detail/bad_sample_log.h>
#include <headrace/engine/sample/sample.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// One pass over an epoch, from the place where it starts.
struct EpochRun {
  std::int64_t epoch = 0;
  std::int64_t start = 0;  ///< global position of the first sample
  std::int64_t batches = 0;
  std::int64_t delivered = 0;     ///< to the trainer
  std::int64_t bad = 0;           ///< bad samples of delivered batches; the consumer's
  std::atomic<bool> left{false};  ///< nobody wants its batches any more
  std::atomic<std::int64_t> failed_at{
      std::numeric_limits<std::int64_t>::max()};  ///< sequence of the first bad batch

  void fail(std::int64_t sequence) noexcept {
    std::int64_t known = failed_at.load(std::memory_order_relaxed);
    while (sequence < known &&
           !failed_at.compare_exchange_weak(known, sequence, std::memory_order_relaxed)) {
    }
  }
};

/// A batch in the making: an entry of the ring of admitted batches.
struct Flight {
  /// Which tickets are this batch's blocks: first ticket and count in one word, so that a claim
  /// reads both at once. The first is known modulo 2^40. That is enough: a span is published anew
  /// each time the ring of batches goes round, which takes far fewer tickets.
  class Span {
   public:
    /// Blocks of a batch at most: as many permits as a full ring of batches needs are an int.
    static constexpr std::int64_t most_blocks = std::int64_t{1} << 16;

    void publish(std::uint64_t first, std::uint64_t count) noexcept {
      word_.store(first << count_bits | count, std::memory_order_release);
    }
    /// Block of a ticket, or -1 when it belongs to another batch.
    std::int64_t block(std::uint64_t ticket) const noexcept {
      const std::uint64_t word = word_.load(std::memory_order_acquire);
      const std::uint64_t count = word & ((std::uint64_t{1} << count_bits) - 1);
      const std::uint64_t place = (ticket - (word >> count_bits)) << count_bits >> count_bits;
      return place < count ? static_cast<std::int64_t>(place) : -1;
    }

   private:
    static constexpr int count_bits = 24;
    static_assert(most_blocks < std::int64_t{1} << count_bits);

    std::atomic<std::uint64_t> word_{0};
  };

  std::int64_t sequence = 0;
  BatchPlace place;
  std::shared_ptr<EpochRun> run;
  std::int64_t block_rows = 1;
  std::int64_t blocks = 0;
  std::int64_t next_block = 0;  ///< pumped graphs: the next one to read
  alignas(64) Span span;  ///< read by every claim: on a line that finished blocks do not touch
  alignas(64) std::atomic<std::int64_t> blocks_left{0};
  std::atomic<Slab*> slab{nullptr};
  /// Of binding, and of what follows until the last block is through; then it is the transfer
  /// stage's, and once `ready` is set guarded by the loader's mutex.
  std::mutex mutex;
  std::int64_t error_row = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr error;
  std::vector<std::pair<std::int64_t, std::int64_t>> replaced;
  std::vector<BadSampleLog::Case> bad;
  std::shared_ptr<Loan> loan;  ///< made by the transfer stage

  bool done = false;  ///< all blocks are through; guarded by the loader's mutex, as all below
  bool ready = false;
  bool lent = false;       ///< the stream of the trainer waits for it
  bool slab_gone = false;  ///< its slab is the loan's or the copy's, and comes back from there
  std::int64_t done_ns = 0;

  bool skipped() const noexcept {
    return run->left.load(std::memory_order_relaxed) ||
           sequence > run->failed_at.load(std::memory_order_relaxed);
  }
  /// Rows of a block.
  std::pair<std::int64_t, std::int64_t> rows_of(std::int64_t block) const noexcept {
    const std::int64_t first = block * block_rows;
    return {first, std::min(block_rows, place.rows - first)};
  }
  /// The slab, taken from the pool by whoever needs it first.
  Slab* bind(SlabPool& pool);
  /// Keeps the error of the smallest row.
  void fail(std::int64_t row, std::exception_ptr cause);
};

/// Rows of a batch on their way from read to collate.
struct Block {
  Flight* flight = nullptr;
  std::uint64_t ticket = 0;
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::vector<std::int64_t> indices;
  std::vector<Sample> samples;
  std::vector<std::uint32_t> attempts;  ///< of each row; `dead` once it takes no further part
  std::size_t reserved = 0;             ///< bytes of the sample budget
  std::int64_t busy_ns = 0;
  bool unread = false;              ///< a worker reads it if that needs no waiting
  std::atomic<bool> handed{false};  ///< published to the next thread

  static constexpr std::uint32_t dead = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace headrace::inline v1::detail
