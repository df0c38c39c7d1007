// Life of a loader: starting, leaving and seeking epochs, statistics, its end.
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/detail/loader_core.h>
#include <headrace/engine/loader/detail/waiting_scope.h>

#include <utility>

namespace headrace::inline v1::detail {

LoaderCore::LoaderCore(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)),
      runtime_(RuntimeCore::share(plan_->runtime)),
      pool_(std::make_shared<SlabPool>(plan_->layout, plan_->slabs)),
      recorder_(plan_->stages, plan_->threads(), plan_->options.statistics,
                runtime_->options().heap_meter != nullptr),
      bad_samples_(plan_->recipe.bad_samples, plan_->recipe.name, plan_->options.log),
      runner_(*plan_, *pool_, recorder_),
      ring_(static_cast<std::size_t>(plan_->slabs + plan_->device_slots)),
      queues_(plan_->nodes.size()),
      preferred_rows_(plan_->recipe.source->preferred_rows()),
      free_slabs_(plan_->slabs) {
  for (int i = 0; i < plan_->runtime.threads(); ++i)
    worker_blocks_.push_back(std::make_unique<Block>());
  position_ = {.seed = plan_->order->seed(), .order_version = IndexStream::version};
}

LoaderCore::~LoaderCore() {
  shut_down();
}

void LoaderCore::shut_down() noexcept {
  if (runtime_->forked()) {
    // The threads and the device are another process's, whose locks this copy may hold: it stays.
    if (auto self = weak_from_this().lock())
      static_cast<void>(new std::shared_ptr<LoaderCore>(std::move(self)));
    return;
  }
  link_->cut();
  {
    Lock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    leave_all_runs();
    drop_unwanted(lock);
    changed_.notify_all();
    changed_.wait(lock, [&] {
      return consume_sequence_ == admit_sequence_ && io_jobs_ == 0 && waiting_ == 0 &&
             dropping_ == 0 && !pumping_;
    });
  }
  if (transfer_) transfer_->returns().disconnect();
  runtime_->memory_users().remove(*this);  // whose call may still send permits
  runtime_->traced().remove(*this);
  graph_.reset();
  watchdog_.reset();
  runtime_->watch_list().remove(&recorder_);
  if (std::exchange(io_expected_, false)) runtime_->io().forget(blocks_.size());
  runtime_->release(trace_bytes_.exchange(0));
  Lock lock(mutex_);
  if (std::exchange(materialised_, false)) runtime_->release(plan_->held_bytes());
}

/// Nobody wants the batches that are in the making any more.
void LoaderCore::leave_all_runs() {
  if (consuming_) consuming_->left.store(true, std::memory_order_relaxed);
  for (auto& run : runs_)
    run->left.store(true, std::memory_order_relaxed);
  runs_.clear();
}

std::shared_ptr<EpochRun> LoaderCore::start(std::int64_t epoch, Stream stream) {
  runtime_->require_usable(who() + "epoch()");
  if (epoch < 0)
    throw ConfigError(who() + "an epoch must not be negative, got " + std::to_string(epoch));
  Lock lock(mutex_);
  const WaitingScope waiting(waiting_, changed_, closed_);
  if (!closed_) build_graph(lock);
  const std::int64_t from = wanted_ && wanted_->epoch == epoch ? wanted_->position : 0;
  // Made while nothing has changed: should memory run out, the loader is as it was.
  std::deque<std::shared_ptr<EpochRun>> anew{make_run(epoch, from)};
  if (!closed_) take_memory(lock);
  if (closed_) throw PipelineError(who() + "epoch() was called on a loader that is closed");
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
  if (runtime_->forked()) return;
  Lock lock(mutex_);
  if (consuming_.get() != run || closed_) return;
  leave_all_runs();
  consuming_.reset();
  gauge_.end_epoch();
  drop_unwanted(lock);
}

void LoaderCore::begin_default_epoch(Lock& lock) {
  const WaitingScope waiting(waiting_, changed_, closed_);
  const std::int64_t epoch = wanted_ ? wanted_->epoch : next_epoch_;
  const Stream stream = stream_;
  unlocked(lock, [&] { start(epoch, stream); });
}

bool LoaderCore::consumes(const EpochRun* run) const noexcept {
  if (runtime_->forked()) return true;  // next() says what is wrong
  std::lock_guard lock(mutex_);
  return consuming_.get() == run;
}

void LoaderCore::seek(const Position& position) {
  runtime_->require_home(who() + "seek()");
  if (position.seed != plan_->order->seed()) {
    throw ConfigError(who() + "a position belongs to the order's seed, which is " +
                      std::to_string(plan_->order->seed()) + ", got a position of seed " +
                      std::to_string(position.seed) + "; build the loader with that seed");
  }
  if (position.order_version != IndexStream::version) {
    throw ConfigError(who() + "positions must be of order version " +
                      std::to_string(IndexStream::version) + ", got " +
                      std::to_string(position.order_version) + "; start the epoch anew");
  }
  if (position.epoch < 0 || position.position < 0 || position.position > plan_->order_length) {
    throw ConfigError(who() + "a position must lie in an epoch of " +
                      std::to_string(plan_->order_length) + " samples, got " +
                      std::to_string(position.position) + " of epoch " +
                      std::to_string(position.epoch));
  }
  Lock lock(mutex_);
  if (consuming_) {
    leave_all_runs();
    consuming_.reset();
    drop_unwanted(lock);
  }
  wanted_ = position;
  position_ = position;
}

Position LoaderCore::position() const {
  runtime_->require_home(who() + "position()");
  std::lock_guard lock(mutex_);
  return position_;
}

/// For calls of the device, which are not made under the lock.
std::shared_ptr<Transfer> LoaderCore::transfer() const {
  std::lock_guard lock(mutex_);
  return transfer_;
}

LoaderStats LoaderCore::stats() const {
  runtime_->require_home(who() + "stats()");
  LoaderStats stats;
  stats.loader = plan_->recipe.name;
  stats.threads = plan_->runtime.threads();
  stats.io_threads = plan_->runtime.io_threads();
  stats.slabs = plan_->slabs;
  stats.bad_samples = bad_samples_.count();
  stats.stages = recorder_.stages();
  if (const auto transfer = this->transfer()) stats.transfer = transfer->stats();
  std::lock_guard lock(mutex_);
  gauge_.fill(stats);
  stats.slabs_on_loan = on_loan_;
  stats.bytes_held = static_cast<std::int64_t>((materialised_ ? pool_->bytes() : 0) + reserved_);
  return stats;
}

void LoaderCore::reset_stats() {
  runtime_->require_home(who() + "reset_stats()");
  recorder_.clear();
  if (const auto transfer = this->transfer()) transfer->reset_stats();
  std::lock_guard lock(mutex_);
  gauge_.clear();
}

}  // namespace headrace::inline v1::detail
