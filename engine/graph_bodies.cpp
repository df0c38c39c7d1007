// The nodes of a loader's graph and what their bodies do. A message is a permit; work is taken
// oldest first.
#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <headrace/engine/detail/loader_core.h>
#include <headrace/engine/detail/trace_range.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

namespace {

/// Order of a heap whose top is the oldest block.
bool younger(const Block* a, const Block* b) {
  return a->ticket > b->ticket;
}

}  // namespace

void BlockQueue::reserve(std::size_t blocks) {
  std::lock_guard lock(mutex_);
  heap_.reserve(blocks);
}

void BlockQueue::push(Block* block) {
  std::lock_guard lock(mutex_);
  heap_.push_back(block);
  std::push_heap(heap_.begin(), heap_.end(), younger);
}

Block* BlockQueue::pop() {
  std::lock_guard lock(mutex_);
  std::pop_heap(heap_.begin(), heap_.end(), younger);
  Block* block = heap_.back();
  heap_.pop_back();
  return block;
}

void LoaderCore::build_graph() {
  {
    const Lock lock(mutex_);
    if (graph_) return;
  }
  watch();
  prepare_blocks();
  building_ = true;  // by a thread of the crew, which another loader may keep
  std::unique_ptr<FlowGraph> graph;
  try {
    graph = make_graph();
  } catch (...) {
    building_ = false;
    throw;
  }
  building_ = false;
  const Lock lock(mutex_);
  graph_ = std::move(graph);
}

std::unique_ptr<FlowGraph> LoaderCore::make_graph() {
  auto graph = std::make_unique<FlowGraph>(runtime_->crew());
  int last = -1;
  for (std::size_t n = 0; n < plan_->nodes.size(); ++n) {
    const NodePlan& node = plan_->nodes[n];
    const int id = graph->add_node(
        node.limit, [this, n] { return plan_->direct ? run_direct() : run_staged(n); });
    if (last >= 0) graph->connect(last, id);
    last = id;
  }
  transfer_node_ = graph->add_node(1, [this] { return run_transfer(); });
  graph->connect(last, transfer_node_);
  if (plan_->device_slots > 0) returns_node_ = graph->add_node(1, [this] { return run_returns(); });
  return graph;
}

void LoaderCore::watch() {
  runtime_->watch_list().remove(&recorder_);
  runtime_->watch_list().add({.plan = plan_.get(), .recorder = &recorder_});
  if (plan_->options.watchdog.after.count() == 0 || watchdog_) return;
  watchdog_ = std::make_unique<Watchdog>(*plan_, recorder_, runtime_->watch_list(), [this] {
    const Lock lock(mutex_, std::try_to_lock);
    return !lock.owns_lock() || waiting_ > 0 || building_ || closed_;
  });
}

/// Memory for all blocks that can be on their way at once: from then on admission takes none.
void LoaderCore::prepare_blocks() {
  resting_.reserve(worker_blocks_.size() + static_cast<std::size_t>(plan_->staged_blocks) + 1);
  if (plan_->direct) return;
  const std::size_t most = static_cast<std::size_t>(plan_->staged_blocks) + 1;  // one held back
  for (BlockQueue& queue : queues_)
    queue.reserve(most);
  spare_blocks_.reserve(most);
  blocks_.reserve(most);
  while (blocks_.size() < most) {
    blocks_.push_back(std::make_unique<Block>());
    spare_blocks_.push_back(blocks_.back().get());
  }
  if (!plan_->io || io_expected_) return;
  runtime_->io().expect(most);
  io_expected_ = true;
}

/// Finds the batch that a fresh ticket belongs to.
Block* LoaderCore::claim(Block& block) {
  block.ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    for (Flight& flight : ring_) {
      const std::int64_t number = flight.span.block(block.ticket);
      if (number < 0) continue;
      block.flight = &flight;
      std::tie(block.first, block.rows) = flight.rows_of(number);
      block.busy_ns = 0;
      return &block;
    }
  }
}

int LoaderCore::run_direct() {
  // Should a step wait inside TBB, this worker may be given a second block meanwhile: it then gets
  // memory of its own.
  const auto slot = static_cast<std::size_t>(Crew::slot());
  std::unique_ptr<Block> own = std::move(worker_blocks_[slot]);
  std::optional<Block> second;
  Block* block = own ? own.get() : &second.emplace();
  claim(*block);
  Flight& flight = *block->flight;
  if (!flight.skipped()) {
    runner_.order(*block);
    runner_.run(plan_->nodes[0], *block, static_cast<int>(slot));
    learn(*block);
  }
  if (own) worker_blocks_[slot] = std::move(own);
  return finish_block(flight);
}

void LoaderCore::send_to_io(Block* block) {
  runtime_->io().submit(
      [this, block](int slot) { read_block(block, plan_->runtime.threads() + slot); });
}

void LoaderCore::read_block(Block* block, int slot) {
  if (!block->handed.load(std::memory_order_acquire)) std::terminate();
  runner_.run(plan_->nodes[0], *block, slot);
  queues_[1].push(block);
  graph_->emit(0, 1);
  Lock lock(mutex_);
  if (--io_jobs_ == 0 && closed_) changed_.notify_all();
}

int LoaderCore::run_staged(std::size_t n) {
  const NodePlan& node = plan_->nodes[n];
  Block* block = queues_[n].pop();
  if (std::exchange(block->unread, false) && !runner_.read_now(*block, Crew::slot())) {
    Lock lock(mutex_);
    blocks_by_io_ = blocks_until_retry;
    ++io_jobs_;
    lock.unlock();
    send_to_io(block);
    return 0;
  }
  runner_.run(node, *block, Crew::slot());
  if (!node.collates) {
    queues_[n + 1].push(block);
    return 1;
  }
  learn(*block);
  Flight& flight = *block->flight;
  recycle(block);
  return finish_block(flight);
}

/// Counts down; the last block of a batch sends it, and those behind it that waited, to the
/// transfer stage.
int LoaderCore::finish_block(Flight& flight) {
  if (flight.blocks_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return 0;
  if (!flight.skipped() && !flight.error) runner_.finish(flight);
  Lock lock(mutex_);
  flight.done = true;
  flight.done_ns = now_ns();
  int permits = 0;
  while (finish_sequence_ < admit_sequence_ && flight_at(finish_sequence_).done) {
    ++finish_sequence_;
    ++permits;
  }
  return permits;
}

/// Lets permits that waited for a slot of the device go on.
void LoaderCore::unpark(Lock& lock, int permits) {
  parked_ -= permits;
  lock.unlock();
  graph_->put(transfer_node_, permits);
  lock.lock();
}

int LoaderCore::run_transfer() {
  Lock lock(mutex_);
  Flight& flight = flight_at(transfer_sequence_);
  const bool wanted = !flight.skipped() && !flight.error;
  DeviceSlot* slot = nullptr;
  if (transfer_ && wanted) {
    slot = transfer_->take();
    if (slot == nullptr) {
      ++parked_;
      return 0;
    }
  }
  gauge_.reordered(now_ns() - flight.done_ns);
  lock.unlock();
  if (wanted) load(flight, slot);
  lock.lock();
  flight.ready = true;
  ++transfer_sequence_;
  observe();
  drop_unwanted(lock);
  const bool wake = waiting_ > 0 || closed_;
  lock.unlock();  // who is woken would only run into the lock
  if (wake) changed_.notify_all();
  return 0;
}

/// Makes the batch, on its device if it goes to one; what fails becomes the batch's error.
void LoaderCore::load(Flight& flight, DeviceSlot* slot) {
  const TraceRange range(plan_->stages[plan_->transfer_stage()].name);
  const std::int64_t begun = recorder_.on() ? now_ns() : 0;
  std::int64_t in_steps = 0;
  std::size_t stage = plan_->transfer_stage();
  const Activity::Work work(recorder_.activity(Crew::slot()),
                            {.stage = static_cast<std::int64_t>(stage),
                             .epoch = flight.place.epoch,
                             .batch = flight.place.number});
  try {
    Stream stream;
    std::optional<DeviceScope> device;  // batch operations start kernels
    if (slot != nullptr) device.emplace(slot->device);
    make_loan(flight, slot);
    if (slot != nullptr) stream = transfer_->operations(*slot);
    run_batch_steps(flight, stream, stage, in_steps);
    stage = plan_->transfer_stage();
    if (slot != nullptr) transfer_->finish(*slot);
  } catch (...) {
    Origin origin;
    origin.epoch = flight.place.epoch;
    origin.batch = flight.place.number;
    recorder_.fail(Crew::slot(), stage);
    flight.fail(0, with_stage(plan_->stages[stage].name, origin, std::current_exception()));
    if (slot != nullptr) abandon(flight, slot);
  }
  if (recorder_.on()) {
    recorder_.add(Crew::slot(), plan_->transfer_stage(), 1, now_ns() - begun - in_steps);
  }
}

/// The batch as the trainer will have it: the slab itself, or a slot with the slab's copy on its
/// way.
void LoaderCore::make_loan(Flight& flight, DeviceSlot* slot) {
  Slab* slab = flight.slab.load(std::memory_order_acquire);
  if (slot != nullptr) transfer_->prepare(*slot);
  flight.loan = std::make_shared<Loan>(
      Loan::Context{pool_, plan_->recipe.source, plan_->order, transfer_, link_}, slab, slot,
      flight.place);
  flight.loan->replaced = std::move(flight.replaced);
  // From here on the slab is the loan's, or the copy's.
  flight.slab.store(nullptr, std::memory_order_relaxed);
  flight.slab_gone = true;
  if (slot == nullptr) return;
  try {
    transfer_->copy(*slot, *slab);
  } catch (...) {
    const Lock lock(mutex_);
    ++lost_slabs_;
    throw;
  }
}

void LoaderCore::run_batch_steps(Flight& flight, Stream stream, std::size_t& stage,
                                 std::int64_t& in_steps) {
  Batch batch = Loan::batch(flight.loan);
  for (std::size_t s = 0; s < plan_->recipe.batch_steps.size(); ++s) {
    stage = plan_->batch_step_stage(s);
    recorder_.activity(Crew::slot()).enter(stage);
    const TraceRange step(plan_->stages[stage].name);
    const std::int64_t since = recorder_.on() ? now_ns() : 0;
    plan_->recipe.batch_steps[s].run(batch, stream);
    if (!recorder_.on()) continue;
    const std::int64_t took = now_ns() - since;
    in_steps += took;
    recorder_.add(Crew::slot(), stage, 1, took);
  }
}

/// After a failure on the way to the device: what was queued for the slot may still run, so the
/// next copy must wait for it.
void LoaderCore::abandon(Flight& flight, DeviceSlot* slot) noexcept {
  try {
    if (flight.loan) return transfer_->finish(*slot);
    transfer_->set_free(slot);
  } catch (...) {
    transfer_->lose(*slot);
  }
}

}  // namespace headrace::inline v1::detail
