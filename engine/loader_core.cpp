// Life of a loader and its consumer's side: starting and leaving epochs, delivery in order, loans
// coming back.
#include <headrace/engine/detail/loader_core.h>

#include <algorithm>
#include <utility>

#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

/// Counts the consumer among those who wait; mutex_ is held at both ends.
class LoaderCore::WaitingScope {
 public:
  explicit WaitingScope(LoaderCore& core) : core_(core) { ++core_.waiting_; }
  ~WaitingScope() {
    --core_.waiting_;
    if (core_.closed_) core_.changed_.notify_all();
  }
  WaitingScope(const WaitingScope&) = delete;
  WaitingScope& operator=(const WaitingScope&) = delete;

 private:
  LoaderCore& core_;
};

LoaderCore::LoaderCore(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)),
      runtime_(RuntimeCore::share(plan_->runtime)),
      pool_(std::make_shared<SlabPool>(plan_->layout, plan_->slabs, link_)),
      recorder_(plan_->stages, plan_->slots(), plan_->options.statistics),
      bad_samples_(plan_->recipe.bad_samples, plan_->recipe.name),
      runner_(*plan_, *pool_, recorder_, bad_samples_),
      ring_(static_cast<std::size_t>(plan_->slabs + plan_->device_slots)),
      queues_(plan_->nodes.size()),
      preferred_rows_(plan_->recipe.source->preferred_rows()),
      free_slabs_(plan_->slabs) {
  for (int i = 0; i < plan_->runtime.threads(); ++i)
    worker_blocks_.push_back(std::make_unique<Block>());
  link_->core = this;
  position_ = {.seed = plan_->order->seed(), .order_version = IndexStream::version};
}

LoaderCore::~LoaderCore() {
  shut_down();
}

void LoaderCore::shut_down() noexcept {
  {
    std::lock_guard link(link_->mutex);
    link_->core = nullptr;
  }
  {
    Lock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    if (consuming_) consuming_->left.store(true, std::memory_order_relaxed);
    for (auto& run : runs_)
      run->left.store(true, std::memory_order_relaxed);
    runs_.clear();
    drop_unwanted(lock);
    changed_.notify_all();
    changed_.wait(lock, [&] {
      return consume_sequence_ == admit_sequence_ && io_jobs_ == 0 && waiting_ == 0;
    });
  }
  graph_.reset();
  watchdog_.reset();
  runtime_->watch_list().remove(&recorder_);
  if (std::exchange(io_expected_, false)) runtime_->io().forget(blocks_.size());
  Lock lock(mutex_);
  if (std::exchange(materialised_, false)) runtime_->release(plan_->held_bytes());
}

std::shared_ptr<EpochRun> LoaderCore::start(std::int64_t epoch, Stream stream) {
  build_graph();
  Lock lock(mutex_);
  if (closed_)
    throw PipelineError("[" + plan_->recipe.name +
                        "] epoch() was called on a loader that is closed");
  if (epoch < 0)
    throw ConfigError("[" + plan_->recipe.name + "] an epoch must not be negative, got " +
                      std::to_string(epoch));
  const std::int64_t from = wanted_ && wanted_->epoch == epoch ? wanted_->position : 0;
  // Made while nothing has changed: should memory run out, the loader is as it was.
  std::deque<std::shared_ptr<EpochRun>> anew{make_run(epoch, from)};
  materialise();
  gauge_.start();
  stream_ = stream;
  if (consuming_) {
    consuming_->left.store(true, std::memory_order_relaxed);
    runs_.pop_front();
  }
  wanted_.reset();
  if (runs_.empty() || runs_.front()->epoch != epoch || runs_.front()->start != from) {
    for (auto& run : runs_)
      run->left.store(true, std::memory_order_relaxed);
    runs_.swap(anew);
    admit_position_ = from;
  }
  consuming_ = runs_.front();
  next_epoch_ = epoch + 1;
  position_.epoch = epoch;
  position_.position = from;
  auto run = consuming_;
  drop_unwanted(lock);
  admit(lock);
  return run;
}

void LoaderCore::leave(const EpochRun* run) noexcept {
  Lock lock(mutex_);
  if (consuming_.get() != run || closed_) return;
  for (auto& each : runs_)
    each->left.store(true, std::memory_order_relaxed);
  runs_.clear();
  consuming_.reset();
  gauge_.end_epoch();
  drop_unwanted(lock);
}

void LoaderCore::begin_default_epoch(Lock& lock) {
  const std::int64_t epoch = wanted_ ? wanted_->epoch : next_epoch_;
  lock.unlock();
  start(epoch, stream_);
  lock.lock();
}

NextBatch LoaderCore::next(std::chrono::nanoseconds timeout, std::stop_token stop) {
  const std::stop_callback wake(stop, [this] {
    { const Lock seen(mutex_); }
    changed_.notify_all();
  });
  Lock lock(mutex_);
  gauge_.call();
  if (!consuming_ && !closed_) begin_default_epoch(lock);
  Deadline deadline;
  if (timeout != std::chrono::nanoseconds::max())
    deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (closed_)
      throw PipelineError("[" + plan_->recipe.name +
                          "] the loader was closed while a batch was asked for");
    drop_unwanted(lock);
    if (consuming_->delivered == consuming_->batches) {
      runs_.pop_front();
      consuming_.reset();
      gauge_.end_epoch();
      rest_if_idle();
      return {.status = NextBatch::Status::end, .batch = {}};
    }
    if (consume_sequence_ < admit_sequence_ && flight_at(consume_sequence_).ready) {
      Flight& flight = flight_at(consume_sequence_);
      if (flight.error) deliver_error(flight, lock);
      if (transfer_ && !lend(flight.loan, lock)) continue;
      return {.status = NextBatch::Status::ready, .batch = Loan::batch(take(flight))};
    }
    refuse_if_exhausted();
    if (stop.stop_requested()) return {.status = NextBatch::Status::stopped, .batch = {}};
    if (!wait_for_front(lock, deadline, stop))
      return {.status = NextBatch::Status::timeout, .batch = {}};
  }
}

/// Waits until next() has something to do; false when the time is over. Where batches go to a
/// device, looks once a second whether it still works.
bool LoaderCore::wait_for_front(Lock& lock, Deadline deadline, const std::stop_token& stop) {
  const auto something = [&] {
    return closed_ || stop.stop_requested() ||
           (consume_sequence_ < admit_sequence_ && flight_at(consume_sequence_).ready);
  };
  const WaitingScope waiting(*this);
  if (!transfer_) {
    if (deadline) return changed_.wait_until(lock, *deadline, something);
    changed_.wait(lock, something);
    return true;
  }
  for (;;) {
    const auto look = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    const auto until = deadline ? std::min(look, *deadline) : look;
    if (changed_.wait_until(lock, until, something)) return true;
    if (deadline && until == *deadline) return false;
    transfer_->require_health();
  }
}

std::optional<Batch> LoaderCore::try_next() {
  NextBatch got = next(std::chrono::nanoseconds::zero(), {});
  if (got.status != NextBatch::Status::ready) return std::nullopt;
  return std::move(got.batch);
}

/// A request that no batch can ever answer is an error, not a hang.
void LoaderCore::refuse_if_exhausted() const {
  const bool device = plan_->device_slots > 0;
  if (device ? on_loan_ < plan_->device_slots
             : consume_sequence_ < admit_sequence_ || on_loan_ < plan_->slabs) {
    return;
  }
  throw PipelineError("[" + plan_->recipe.name + "] a batch was asked for while all " +
                      std::to_string(on_loan_) + (device ? " slots of the device" : " slabs") +
                      " are on loan; drop or clone batches that are still held, or raise loans "
                      "above " +
                      std::to_string(plan_->options.loans));
}

/// Has the trainer's stream wait for the front batch. Not under the lock, which the driver's
/// callbacks take. What fails leaves the batch where it is; false: it is not the front any more.
bool LoaderCore::lend(std::shared_ptr<Loan> loan, Lock& lock) {
  const WaitingScope waiting(*this);
  const Stream stream = stream_;
  lock.unlock();
  try {
    loan->use_on(stream);
  } catch (...) {
    lock.lock();
    throw;
  }
  lock.lock();
  return consume_sequence_ < admit_sequence_ && flight_at(consume_sequence_).loan == loan;
}

/// Takes the front batch out of the ring: it is the trainer's now.
std::shared_ptr<Loan> LoaderCore::take(Flight& flight) {
  std::shared_ptr<Loan> loan = std::move(flight.loan);
  flight.slab.store(nullptr, std::memory_order_relaxed);
  ++consume_sequence_;
  ++on_loan_;
  ++consuming_->delivered;
  position_.position = flight.place.after;
  std::int64_t bytes = 0;
  for (const auto& column : plan_->layout.columns()) {
    bytes += static_cast<std::int64_t>(column.row_bytes) * flight.place.size;
  }
  gauge_.deliver(flight.place.rows, bytes);
  observe();
  flight.run.reset();
  return loan;
}

/// Tells the gauge what holds from now on.
void LoaderCore::observe() {
  gauge_.change(static_cast<int>(transfer_sequence_ - consume_sequence_),
                free_slabs_ == 0 && transfer_sequence_ == admit_sequence_);
}

bool LoaderCore::consumes(const EpochRun* run) const noexcept {
  std::lock_guard lock(mutex_);
  return consuming_.get() == run;
}

void LoaderCore::deliver_error(Flight& flight, Lock& lock) {
  std::exception_ptr error = std::move(flight.error);
  for (auto& run : runs_)
    run->left.store(true, std::memory_order_relaxed);
  runs_.clear();
  consuming_.reset();
  gauge_.end_epoch();
  drop_unwanted(lock);
  lock.unlock();
  std::rethrow_exception(error);
}

/// Batches of runs that were left go home as they reach the front.
void LoaderCore::drop_unwanted(Lock& lock) {
  if (parked_ > 0 && flight_at(transfer_sequence_).skipped()) unpark(lock, parked_);
  bool dropped = false;
  while (consume_sequence_ < transfer_sequence_) {
    Flight& flight = flight_at(consume_sequence_);
    if (!flight.ready || !flight.run->left.load(std::memory_order_relaxed)) break;
    recycle(flight);
    ++consume_sequence_;
    dropped = true;
  }
  if (!dropped) return;
  if (closed_) changed_.notify_all();
  rest_if_idle();
  admit(lock);
}

void LoaderCore::recycle(Flight& flight) {
  if (flight.loan) {
    if (flight.loan->slot() != nullptr) transfer_->put_back(flight.loan->slot());
    flight.loan->disarm();
  }
  flight.loan.reset();
  flight.error = nullptr;
  flight.run.reset();
  Slab* slab = flight.slab.exchange(nullptr, std::memory_order_relaxed);
  if (slab != nullptr) pool_->give_back(slab);
  if (!flight.sent) ++free_slabs_;
}

void LoaderCore::give_back(Slab* slab) noexcept {
  Lock lock(mutex_);
  pool_->give_back(slab);
  --on_loan_;
  ++free_slabs_;
  observe();
  rest_if_idle();
  admit(lock);
}

void LoaderCore::give_back(DeviceSlot* slot) noexcept {
  Lock lock(mutex_);
  transfer_->put_back(slot);
  --on_loan_;
  observe();
  if (parked_ > 0) unpark(lock, 1);
}

void LoaderCore::refill(Slab* slab) noexcept {
  Lock lock(mutex_);
  pool_->give_back(slab);
  ++free_slabs_;
  observe();
  admit(lock);
}

void LoaderCore::seek(const Position& position) {
  const std::string who = "[" + plan_->recipe.name + "] ";
  if (position.seed != plan_->order->seed()) {
    throw ConfigError(who + "a position belongs to the order's seed, which is " +
                      std::to_string(plan_->order->seed()) + ", got a position of seed " +
                      std::to_string(position.seed) + "; build the loader with that seed");
  }
  if (position.order_version != IndexStream::version) {
    throw ConfigError(who + "positions must be of order version " +
                      std::to_string(IndexStream::version) + ", got " +
                      std::to_string(position.order_version) + "; start the epoch anew");
  }
  if (position.epoch < 0 || position.position < 0 || position.position > plan_->order->length()) {
    throw ConfigError(who + "a position must lie in an epoch of " +
                      std::to_string(plan_->order->length()) + " samples, got " +
                      std::to_string(position.position) + " of epoch " +
                      std::to_string(position.epoch));
  }
  Lock lock(mutex_);
  if (consuming_) {
    for (auto& run : runs_)
      run->left.store(true, std::memory_order_relaxed);
    runs_.clear();
    consuming_.reset();
    drop_unwanted(lock);
  }
  wanted_ = position;
  position_ = position;
}

Position LoaderCore::position() const {
  std::lock_guard lock(mutex_);
  return position_;
}

LoaderStats LoaderCore::stats() const {
  LoaderStats stats;
  stats.loader = plan_->recipe.name;
  stats.threads = plan_->runtime.threads();
  stats.io_threads = plan_->runtime.io_threads();
  stats.slabs = plan_->slabs;
  stats.bad_samples = bad_samples_.count();
  stats.stages = recorder_.stages();
  std::lock_guard lock(mutex_);
  gauge_.fill(stats);
  if (transfer_) stats.transfer = transfer_->stats();
  stats.slabs_on_loan = on_loan_;
  stats.bytes_held = static_cast<std::int64_t>((materialised_ ? pool_->bytes() : 0) + reserved_);
  return stats;
}

void LoaderCore::reset_stats() {
  recorder_.clear();
  std::lock_guard lock(mutex_);
  if (transfer_) transfer_->reset_stats();
  gauge_.clear();
}

}  // namespace headrace::inline v1::detail
