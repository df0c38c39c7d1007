// The nodes of a loader's graph and what their bodies do. A message is a permit; work is taken
// oldest first.
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/detail/loader_core.h>

#include <exception>
#include <optional>
#include <utility>

namespace headrace::inline v1::detail {

/// Unlocks meanwhile: a thread of the crew builds it, which another loader may keep.
void LoaderCore::build_graph(Lock& lock) {
  if (graph_) return;
  std::unique_ptr<FlowGraph> graph;
  unlocked(lock, [&] {
    watch();
    prepare_blocks();
    graph = make_graph();
    // The last: from here on its blocks are looked at under the lock.
    runtime_->memory_users().remove(*this);
    runtime_->memory_users().add(*this);
    runtime_->traced().remove(*this);
    runtime_->traced().add(*this);
  });
  graph_ = std::move(graph);
}

std::unique_ptr<FlowGraph> LoaderCore::make_graph() {
  auto graph = std::make_unique<FlowGraph>(runtime_->crew());
  int last = -1;
  for (std::size_t n = 0; n < plan_->nodes.size(); ++n) {
    const NodePlan& node = plan_->nodes[n];
    const int id = graph->add_node(
        node.limit, [this, n] { return plan_->direct ? run_direct() : run_pumped(n); });
    if (last >= 0) graph->connect(last, id);
    last = id;
  }
  transfer_node_ = graph->add_node(1, [this] { return run_transfer(); });
  graph->connect(last, transfer_node_);
  if (plan_->device_slots > 0) returns_node_ = graph->add_node(1, [this] { return run_returns(); });
  return graph;
}

void LoaderCore::watch() {
  WatchedLoader watched{.name = plan_->recipe.name,
                        .workers = plan_->runtime.threads(),
                        .source = plan_->recipe.source,
                        .recorder = &recorder_};
  for (const Recorder::Stage& stage : plan_->stages)
    watched.stages.push_back(stage.name);
  runtime_->watch_list().remove(&recorder_);
  runtime_->watch_list().add(watched);
  WatchdogOptions options = plan_->options.watchdog;
  if (options.after.count() == 0 || watchdog_) return;
  if (!options.action) {
    options.action = [log = plan_->options.log](const HangReport& report) {
      if (log) log(LogLevel::warning, to_string(report));
    };
  }
  watchdog_ = std::make_unique<Watchdog>(
      std::move(watched), std::move(options), runtime_->watch_list(), [this] {
        const Lock lock(mutex_, std::try_to_lock);
        const bool waits = waiting_ > 0 && !runtime_->memory_users().paused();
        return !lock.owns_lock() || waits || closed_;
      });
}

/// Memory for all blocks that can be on their way at once: from then on admission takes none.
void LoaderCore::prepare_blocks() {
  resting_.reserve(worker_blocks_.size() + static_cast<std::size_t>(plan_->pumped_blocks) + 1);
  if (plan_->direct) return;
  const std::size_t most = static_cast<std::size_t>(plan_->pumped_blocks) + 1;  // one held back
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
  const auto thread = static_cast<std::size_t>(Crew::thread());
  std::unique_ptr<Block> own = std::move(worker_blocks_[thread]);
  std::optional<Block> second;
  Block* block = own ? own.get() : &second.emplace();
  claim(*block);
  Flight& flight = *block->flight;
  if (!flight.skipped()) {
    runner_.order(*block);
    runner_.run(plan_->nodes[0], *block, static_cast<int>(thread));
    learn(*block);
  }
  const bool lowered = runtime_->memory_users().share() < 1.0;
  if (lowered && pools_too_much(*block, worker_blocks_.size())) block->samples.clear();
  if (own) worker_blocks_[thread] = std::move(own);
  return finish_block(flight);
}

void LoaderCore::send_to_io(Block* block) {
  runtime_->io().submit(
      [this, block](int thread) { read_block(block, plan_->runtime.threads() + thread); });
}

void LoaderCore::read_block(Block* block, int thread) {
  if (!block->handed.load(std::memory_order_acquire)) std::terminate();
  runner_.run(plan_->nodes[0], *block, thread);
  queues_[1].push(block);
  graph_->emit(0, 1);
  Lock lock(mutex_);
  if (--io_jobs_ == 0 && closed_) changed_.notify_all();
}

int LoaderCore::run_pumped(std::size_t n) {
  const NodePlan& node = plan_->nodes[n];
  Block* block = queues_[n].pop();
  if (std::exchange(block->unread, false) && !runner_.read_now(*block, Crew::thread())) {
    Lock lock(mutex_);
    blocks_by_io_ = blocks_until_retry;
    ++io_jobs_;
    lock.unlock();
    send_to_io(block);
    return 0;
  }
  runner_.run(node, *block, Crew::thread());
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
  mark(TraceRing::Kind::collated, flight);
  int permits = 0;
  while (finish_sequence_ < admit_sequence_ && flight_at(finish_sequence_).done) {
    ++finish_sequence_;
    ++permits;
  }
  return permits;
}

}  // namespace headrace::inline v1::detail
