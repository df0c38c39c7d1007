#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include <headrace/engine/detail/block_runner.h>
#include <headrace/engine/detail/flight.h>
#include <headrace/engine/detail/gauge.h>
#include <headrace/engine/detail/plan.h>
#include <headrace/engine/detail/runtime_core.h>
#include <headrace/engine/loader.h>

namespace headrace::inline v1::detail {

/// Blocks that wait for a node, oldest first. A message to the node is a permit to take one.
class BlockQueue {
 public:
  /// Makes room: pushing no more blocks than these takes no memory.
  void reserve(std::size_t blocks);
  void push(Block* block);
  Block* pop();

 private:
  std::mutex mutex_;
  std::vector<Block*> heap_;
};

/// The engine of one loader: admits batches while slabs are free, runs their blocks through the
/// graph, delivers them in order. Slabs are the only ticket: a batch is admitted when one is free,
/// and takes its memory late, from the slab that came back last.
class LoaderCore {
 public:
  explicit LoaderCore(std::shared_ptr<const Plan> plan);
  ~LoaderCore();
  LoaderCore(const LoaderCore&) = delete;
  LoaderCore& operator=(const LoaderCore&) = delete;

  const Plan& plan() const noexcept { return *plan_; }

  /// Starts an epoch, or takes over the one that was begun ahead.
  std::shared_ptr<EpochRun> start(std::int64_t epoch, Stream stream);
  /// Abandons a run if it is the one being consumed.
  void leave(const EpochRun* run) noexcept;
  NextBatch next(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::optional<Batch> try_next();
  void seek(const Position& position);
  Position position() const;
  /// Ends all work; batches on loan stay valid.
  void shut_down() noexcept;

  LoaderStats stats() const;
  void reset_stats();

  /// A loan has ended; any thread.
  void give_back(Slab* slab) noexcept;
  void give_back(DeviceSlot* slot) noexcept;
  /// A slab has been copied to the device and may be filled again; a thread of the driver.
  void refill(Slab* slab) noexcept;
  /// Whether this run is the one being consumed.
  bool consumes(const EpochRun* run) const noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  class WaitingScope;
  /// A read that would have made a worker wait says that the next ones would, too.
  static constexpr int blocks_until_retry = 64;

  // the graph
  void build_graph();
  std::unique_ptr<FlowGraph> make_graph();
  void prepare_blocks();
  void watch();
  int run_direct();
  int run_staged(std::size_t node);
  int run_transfer();
  void load(Flight& flight, DeviceSlot* slot);
  void unpark(Lock& lock, int permits);
  void send_to_io(Block* block);
  void read_block(Block* block, int slot);
  Block* claim(Block& block);
  int finish_block(Flight& flight);
  void learn(const Block& block);

  // admission
  std::shared_ptr<EpochRun> make_run(std::int64_t epoch, std::int64_t start) const;
  bool join(std::int64_t epoch) noexcept;
  void admit(Lock& lock);
  void admit_one(Flight& flight);
  BatchPlace place_at(std::int64_t position) const;
  std::int64_t rows_per_block() const;
  void pump(Lock& lock);
  Block* next_block_to_read();
  void recycle(Block* block);

  // delivery
  void refuse_if_exhausted() const;
  void drop_unwanted(Lock& lock);
  void recycle(Flight& flight);
  void rest_if_idle();
  void observe();
  void materialise();
  void open_device();
  bool wait_for_front(Lock& lock, Deadline deadline, const std::stop_token& stop);
  bool lend(std::shared_ptr<Loan> loan, Lock& lock);
  std::shared_ptr<Loan> take(Flight& flight);
  [[noreturn]] void deliver_error(Flight& flight, Lock& lock);
  void begin_default_epoch(Lock& lock);
  Flight& flight_at(std::int64_t sequence) {
    return ring_[static_cast<std::size_t>(sequence) % ring_.size()];
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<RuntimeCore> runtime_;
  std::shared_ptr<LoaderLink> link_ = std::make_shared<LoaderLink>();
  std::shared_ptr<SlabPool> pool_;
  std::shared_ptr<Transfer> transfer_;  ///< made with the first epoch
  Recorder recorder_;
  BadSampleLog bad_samples_;
  BlockRunner runner_;
  std::vector<Flight> ring_;
  std::deque<BlockQueue> queues_;
  std::vector<std::unique_ptr<Block>> worker_blocks_;
  std::unique_ptr<FlowGraph> graph_;
  std::unique_ptr<Watchdog> watchdog_;
  std::atomic<bool> building_{false};  ///< the graph; a trainer waits for it
  int transfer_node_ = 0;
  std::int64_t preferred_rows_ = 0;  ///< as the source says
  bool io_expected_ = false;         ///< the I/O threads have room for our blocks
  std::atomic<std::uint64_t> next_ticket_{0};
  std::atomic<std::int64_t> ns_per_row_{0};

  mutable std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  bool closed_ = false;
  bool materialised_ = false;
  int waiting_ = 0;
  std::uint64_t published_tickets_ = 0;
  std::int64_t admit_sequence_ = 0;
  std::int64_t pump_sequence_ = 0;
  std::int64_t finish_sequence_ = 0;
  std::int64_t transfer_sequence_ = 0;
  std::int64_t consume_sequence_ = 0;
  int parked_ = 0;  ///< permits of the transfer stage that found no slot of the device free
  Stream stream_;   ///< of the trainer
  int free_slabs_ = 0;
  int on_loan_ = 0;
  std::deque<std::shared_ptr<EpochRun>> runs_;  ///< admitted; the front is consumed or comes next
  std::int64_t admit_position_ = 0;
  std::shared_ptr<EpochRun> consuming_;
  std::int64_t next_epoch_ = 0;
  std::optional<Position> wanted_;
  Position position_;
  int live_blocks_ = 0;
  bool filling_ = true;
  int io_jobs_ = 0;
  int blocks_by_io_ = 0;  ///< blocks to go to the I/O threads before workers may try again
  std::size_t reserved_ = 0;
  Block* held_back_ = nullptr;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> spare_blocks_;
  Gauge gauge_;
};

}  // namespace headrace::inline v1::detail
