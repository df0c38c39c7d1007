// Which batches are in the making: admission by free slabs, and the reading ahead that a byte
// budget bounds.
#include <headrace/engine/loader/detail/loader_core.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {

namespace {

/// Work worth a message: what a block should take.
constexpr std::int64_t block_ns = 40'000;

}  // namespace

std::shared_ptr<EpochRun> LoaderCore::make_run(std::int64_t epoch, std::int64_t start) const {
  auto run = std::make_shared<EpochRun>();
  run->epoch = epoch;
  run->start = start;
  run->batches = plan_->batches(start);
  return run;
}

BatchPlace LoaderCore::place_at(std::int64_t position) const {
  const Batching& batching = *plan_->recipe.batching;
  const auto [rank, world] = plan_->recipe.ranks;
  const std::int64_t global = std::min(batching.size, plan_->order_length - position);
  BatchPlace place;
  place.number = ceil_div(position, batching.size);
  place.before = position;
  place.after = position + global;
  std::int64_t first = rank * plan_->rows;
  std::int64_t last = first + plan_->rows;
  place.size = plan_->rows;
  if (global < batching.size) {
    if (batching.tail == Tail::shorter) {
      first = global * rank / world;
      last = global * (rank + 1) / world;
      place.size = last - first;
    } else {
      first = std::min(first, global);
      last = std::min(last, global);
    }
  }
  place.first = position + first;
  place.rows = last - first;
  return place;
}

std::int64_t LoaderCore::rows_per_block() const {
  const std::int64_t rows = plan_->rows;
  const std::int64_t fewest = ceil_div(rows, Flight::Span::most_blocks);
  if (plan_->gathers && plan_->io) {
    // Every I/O thread finds a block, and one more, among the batches that are read ahead.
    const std::int64_t io_threads = plan_->runtime.io_threads();
    const std::int64_t most = ceil_div(rows * plan_->options.prefetch, 2 * io_threads);
    const std::int64_t wanted = preferred_rows_ > 0 ? preferred_rows_ : ceil_div(rows, io_threads);
    return std::max(std::min({wanted, most, rows}), fewest);
  }
  const std::int64_t most = ceil_div(rows, plan_->runtime.threads());
  const std::int64_t known = ns_per_row_.load(std::memory_order_relaxed);
  const std::int64_t wanted = known > 0 ? block_ns / known : (plan_->gathers ? 256 : rows / 256);
  return std::max(std::min(wanted, most), fewest);
}

/// Smooths the cost of a row, from which the length of later blocks follows.
void LoaderCore::learn(const Block& block) {
  if (block.rows == 0 || block.busy_ns == 0) return;
  const std::int64_t now = std::max<std::int64_t>(1, block.busy_ns / block.rows);
  const std::int64_t known = ns_per_row_.load(std::memory_order_relaxed);
  ns_per_row_.store(known == 0 ? now : std::max<std::int64_t>(1, (known * 7 + now) / 8),
                    std::memory_order_relaxed);
}

void LoaderCore::admit_one(Flight& flight) {
  flight.sequence = admit_sequence_;
  flight.place = place_at(admit_position_);
  flight.place.epoch = runs_.back()->epoch;
  flight.run = runs_.back();
  flight.block_rows = rows_per_block();
  flight.blocks = std::max<std::int64_t>(1, ceil_div(flight.place.rows, flight.block_rows));
  flight.next_block = 0;
  flight.blocks_left.store(flight.blocks, std::memory_order_relaxed);
  flight.error_row = std::numeric_limits<std::int64_t>::max();
  flight.error = nullptr;
  flight.replaced.clear();
  flight.bad.clear();
  flight.done = false;
  flight.ready = false;
  flight.lent = false;
  flight.slab_gone = false;
  admit_position_ = flight.place.after;
  --free_slabs_;
  flight.span.publish(published_tickets_, static_cast<std::uint64_t>(flight.blocks));
  published_tickets_ += static_cast<std::uint64_t>(flight.blocks);
  ++admit_sequence_;
  mark(TraceRing::Kind::admitted, flight);
}

/// Goes on with the next epoch. False: there is no memory to; whoever asks for that epoch makes it.
bool LoaderCore::join(std::int64_t epoch) noexcept {
  try {
    runs_.push_back(make_run(epoch, 0));
  } catch (...) {
    return false;
  }
  admit_position_ = 0;
  return true;
}

/// Whether a slab may be taken. The oldest batch always may, so that nothing can lock.
bool LoaderCore::may_admit() const noexcept {
  if (closed_ || free_slabs_ == 0 || runs_.empty() || runtime_->memory_users().paused())
    return false;
  return plan_->slabs - free_slabs_ < usable_slabs() || admit_sequence_ == consume_sequence_;
}

/// Admits while slabs are free; unlocks to send the permits and locks again. Takes no memory that
/// it cannot do without: it runs where a loan ends.
void LoaderCore::admit(Lock& lock) {
  std::int64_t permits = 0;
  while (may_admit()) {
    const EpochRun& run = *runs_.back();
    if (run.failed_at.load(std::memory_order_relaxed) < admit_sequence_) break;
    const std::int64_t end = run.start + run.batches * plan_->recipe.batching->size;
    if (admit_position_ >= std::min(end, plan_->order_length) || run.batches == 0) {
      if (!plan_->options.join_epochs || runs_.size() > 2) break;
      if (!join(run.epoch + 1)) break;
      continue;
    }
    Flight& flight = flight_at(admit_sequence_);
    admit_one(flight);
    permits += flight.blocks;
  }
  gauge_.hold(static_cast<std::int64_t>(pool_->bytes() + reserved_));
  if (permits > 0) mark_counts();
  if (!plan_->direct) return pump(lock);
  if (permits == 0) return;
  lock.unlock();
  graph_->put(0, static_cast<int>(permits));
  lock.lock();
}

/// The next block in order, weighed; null when there is none. Unlocks while the order and the
/// source are asked, which are the user's.
Block* LoaderCore::next_block(Lock& lock) {
  if (held_back_ != nullptr) return std::exchange(held_back_, nullptr);
  while (pump_sequence_ != admit_sequence_ &&
         flight_at(pump_sequence_).next_block == flight_at(pump_sequence_).blocks)
    ++pump_sequence_;
  if (pump_sequence_ == admit_sequence_) return nullptr;
  Flight& flight = flight_at(pump_sequence_);
  Block* block = spare_blocks_.back();
  spare_blocks_.pop_back();
  block->flight = &flight;
  block->ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  std::tie(block->first, block->rows) = flight.rows_of(flight.next_block++);
  block->busy_ns = 0;
  block->reserved = 0;
  lock.unlock();
  runner_.order(*block);
  if (!plan_->gathers && !flight.skipped()) block->reserved = runner_.estimate(*block);
  lock.lock();
  return block;
}

/// Pumped graphs: sends blocks to be read while budget and places last. One thread at a time does,
/// since blocks are weighed in order; the others leave it their request.
void LoaderCore::pump(Lock& lock) {
  pump_again_ = true;
  if (pumping_) return;
  pumping_ = true;
  while (std::exchange(pump_again_, false)) {
    while (pump_one(lock)) {
    }
  }
  pumping_ = false;
  if (closed_) changed_.notify_all();
}

/// Sends one block to be read; false when none may go. While the workers have read blocks to go on
/// with, it fills up only when half of them are through: I/O threads then wake once for several
/// blocks. When they have none, storage is the slow side, and its threads must not wait. The oldest
/// block may exceed the budget, when no other is on its way.
bool LoaderCore::pump_one(Lock& lock) {
  if (live_blocks_ <= plan_->pumped_blocks / 2) filling_ = true;
  if (plan_->io && live_blocks_ - io_jobs_ < plan_->runtime.threads()) filling_ = true;
  if (live_blocks_ >= plan_->pumped_blocks) filling_ = false;
  if (!filling_) return false;
  Block* block = next_block(lock);
  if (block == nullptr) return false;
  if (live_blocks_ > 0 && reserved_ + block->reserved > usable_sample_bytes() && !plan_->gathers) {
    held_back_ = block;
    return false;
  }
  ++live_blocks_;
  reserved_ += block->reserved;
  gauge_.hold(static_cast<std::int64_t>(pool_->bytes() + reserved_));
  block->handed.store(true, std::memory_order_release);
  block->unread = plan_->reads_now && blocks_by_io_ == 0;
  const bool by_io = plan_->io && !block->unread;
  if (by_io) ++io_jobs_;
  if (by_io && blocks_by_io_ > 0) --blocks_by_io_;
  lock.unlock();
  if (by_io) {
    send_to_io(block);
  } else {
    const std::size_t node = block->unread ? 1 : 0;
    queues_[node].push(block);
    graph_->put(static_cast<int>(node), 1);
  }
  lock.lock();
  return true;
}

/// Whether a block's samples hold more than its share of the budget, as one of so many.
bool LoaderCore::pools_too_much(const Block& block, std::size_t blocks) const noexcept {
  std::size_t pooled = 0;
  for (const Sample& sample : block.samples)
    pooled += sample.pooled_bytes();
  return pooled > usable_sample_bytes() / blocks;
}

/// A block that is through: its place and its bytes go to the next one.
void LoaderCore::recycle(Block* block) {
  if (pools_too_much(*block, static_cast<std::size_t>(plan_->pumped_blocks)))
    block->samples.clear();
  Lock lock(mutex_);
  --live_blocks_;
  reserved_ -= block->reserved;
  spare_blocks_.push_back(block);
  pump(lock);
}

}  // namespace headrace::inline v1::detail
