#pragma once

#include <headrace/engine/loader/detail/block_queue.h>
#include <headrace/engine/loader/detail/block_runner.h>
#include <headrace/engine/loader/detail/flight.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/internal/plan.h>
#include <headrace/engine/runtime/internal/flow_graph.h>
#include <headrace/engine/runtime/internal/runtime_core.h>
#include <headrace/engine/stats/internal/gauge.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// The engine of one loader: admits batches while slabs are free, runs their blocks through the
/// graph, delivers them in order. Slabs are the only admission: a batch enters when one is free,
/// and takes its memory late, from the slab that came back last. No code of the user's runs, and
/// no tensor of theirs dies, while the mutex is held.
class LoaderCore final : public std::enable_shared_from_this<LoaderCore>,
                         private Lender,
                         private MemoryUser,
                         private TracedLoader {
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
  std::shared_ptr<Transfer> transfer() const;
  /// What the plan says, and the trace's rings once there are some.
  MemoryForecast forecast() const;

  /// Whether this run is the one being consumed.
  bool consumes(const EpochRun* run) const noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  /// A read that would have made a worker wait says that the next ones would, too.
  static constexpr int blocks_until_retry = 64;

  /// The lock is held again whatever `work` does.
  template <class Work>
  static void unlocked(Lock& lock, const Work& work) {
    lock.unlock();
    try {
      work();
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
  }
  std::string who() const { return "[" + plan_->recipe.name + "] "; }

  // the graph
  void build_graph(Lock& lock);
  std::unique_ptr<FlowGraph> make_graph();
  void prepare_blocks();
  void watch();
  int run_direct();
  int run_pumped(std::size_t node);
  int run_transfer();
  int run_returns();
  void load(Flight& flight, DeviceSlot* slot);
  Slab* make_loan(Flight& flight, DeviceSlot* slot);
  void run_batch_steps(Flight& flight, Stream stream, std::size_t& stage, std::int64_t& in_steps);
  void give_back(Flight& flight, const DeviceSlot& slot, Slab*& kept);
  void abandon(Flight& flight, DeviceSlot& slot, Slab* kept) noexcept;
  void lose_slab() noexcept;
  void unpark(Lock& lock, int permits);
  void send_to_io(Block* block);
  void read_block(Block* block, int thread);
  Block* claim(Block& block);
  int finish_block(Flight& flight);
  void learn(const Block& block);

  // the trace
  void begin_trace(std::size_t events) override;
  void end_trace() noexcept override;
  Trace read_trace() const override;
  /// Under the mutex: what happened to a batch now, or until now.
  void mark(TraceRing::Kind kind, const Flight& flight, std::int64_t duration = 0) noexcept;
  void mark_counts() noexcept;
  /// A whole batch, on this thread.
  void put_span(std::size_t stage, const Flight& flight, std::int64_t begun,
                std::int64_t took) noexcept;

  // admission
  std::shared_ptr<EpochRun> make_run(std::int64_t epoch, std::int64_t start) const;
  bool join(std::int64_t epoch) noexcept;
  void admit(Lock& lock);
  void admit_one(Flight& flight);
  BatchPlace place_at(std::int64_t position) const;
  std::int64_t rows_per_block() const;
  void pump(Lock& lock);
  bool pump_one(Lock& lock);
  bool may_admit() const noexcept;
  Block* next_block(Lock& lock);
  void recycle(Block* block);
  bool pools_too_much(const Block& block, std::size_t blocks) const noexcept;

  // memory
  void slab_came_back(Slab* slab, bool delivered) noexcept override;
  void slot_came_back(bool delivered, std::exception_ptr failure) noexcept override;
  void take_returned(Lock& lock);
  void take_memory(Lock& lock);
  std::shared_ptr<Transfer> open_device();
  std::vector<DeviceWork::Run> begin_device_work() const;
  void rest_if_idle(Lock& lock);
  void share_changed() noexcept override;
  LoaderHolding holding() const override;
  /// Slabs that may be in use; more are where the oldest batch needs one.
  int usable_slabs() const noexcept;
  std::size_t usable_sample_bytes() const noexcept;
  void rest_slabs() noexcept;
  void rest_samples(Lock& lock) noexcept;

  // delivery
  bool is_exhausted() const;
  [[noreturn]] void refuse_exhausted() const;
  void drop_unwanted(Lock& lock);
  void drop(Flight& flight, Lock& lock);
  void leave_all_runs();
  void observe();
  bool wait_for_front(Lock& lock, Deadline deadline, const std::stop_token& stop);
  bool front_is_ready();
  bool prepare_front(Lock& lock);
  void lend(Flight& flight, Lock& lock);
  void settle_bad_samples(Flight& flight, Lock& lock);
  std::shared_ptr<Loan> take(Flight& flight);
  [[noreturn]] void end_run(std::exception_ptr error, Lock& lock);
  void begin_default_epoch(Lock& lock);
  Flight& flight_at(std::int64_t sequence) {
    return ring_[static_cast<std::size_t>(sequence) % ring_.size()];
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<RuntimeCore> runtime_;
  std::shared_ptr<LenderLink> link_ = std::make_shared<LenderLink>(static_cast<Lender*>(this));
  std::shared_ptr<SlabPool> pool_;
  Recorder recorder_;
  std::vector<std::unique_ptr<TraceRings>> rings_;  ///< guarded by the list of traced loaders
  bool traced_ = false;                             ///< likewise: in this window, or the last one
  std::atomic<std::size_t> trace_bytes_{0};         ///< of them
  BadSampleLog bad_samples_;
  BlockRunner runner_;
  std::vector<Flight> ring_;
  std::deque<BlockQueue> queues_;
  std::vector<std::unique_ptr<Block>> worker_blocks_;
  std::unique_ptr<Watchdog> watchdog_;
  int transfer_node_ = 0;
  int returns_node_ = 0;
  std::int64_t preferred_rows_ = 0;            ///< as the source says
  bool io_expected_ = false;                   ///< the I/O threads have room for our blocks
  std::atomic<std::uint64_t> next_ticket_{0};  ///< of the block that is claimed next
  std::atomic<std::int64_t> ns_per_row_{0};    ///< of blocks lately; sizes the next ones

  // Made with the first epoch, under the mutex, before a batch is admitted; then only read, by
  // bodies without it.
  std::unique_ptr<FlowGraph> graph_;
  std::vector<DeviceWork::Run> device_work_;  ///< of each batch step; null where it has none
  std::shared_ptr<Transfer> transfer_;

  mutable std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  bool closed_ = false;
  bool materialised_ = false;   ///< the runtime's budget holds our share
  int waiting_ = 0;             ///< calls of the consumer that are under way, unlocked or asleep
  int dropping_ = 0;            ///< threads that let go of a batch, unlocked
  std::exception_ptr failure_;  ///< of the device, outside any batch; the run ends with it

  // Batches are numbered from the loader's first; each counter is the number of the next one for
  // its stage, so consume <= transfer <= finish <= admit, and pump <= admit.
  std::int64_t admit_sequence_ = 0;
  std::int64_t pump_sequence_ = 0;  ///< pumped graphs: whose blocks are being sent to be read
  std::int64_t finish_sequence_ = 0;
  std::int64_t transfer_sequence_ = 0;
  std::int64_t consume_sequence_ = 0;
  std::uint64_t published_tickets_ = 0;  ///< blocks of all batches admitted so far

  int free_slabs_ = 0;  ///< slabs that no admitted batch counts on
  int on_loan_ = 0;     ///< batches delivered to the trainer and not given back
  int dropped_ = 0;     ///< loans that were dropped undelivered and not given back
  int lost_slabs_ = 0;  ///< slabs that a failed copy may still read, never used again
  int lost_slots_ = 0;  ///< slots of the device whose users nobody knows, never used again
  int parked_ = 0;      ///< permits of the transfer stage that found no slot of the device free

  Stream stream_;                               ///< of the trainer
  std::deque<std::shared_ptr<EpochRun>> runs_;  ///< admitted; the front is consumed or comes next
  std::int64_t admit_position_ = 0;             ///< in the last run, of the next batch
  std::shared_ptr<EpochRun> consuming_;         ///< whose batches next() delivers, or null
  std::int64_t next_epoch_ = 0;                 ///< that next() begins where none is consumed
  std::optional<Position> wanted_;              ///< of seek(), until an epoch begins there
  Position position_;                           ///< behind the last batch delivered

  bool pumping_ = false;      ///< a thread is in pump(); others leave their request in pump_again_
  bool pump_again_ = false;   ///< somebody asked for pump() meanwhile
  bool filling_ = true;       ///< pump() goes on until the places are full
  int live_blocks_ = 0;       ///< blocks between read and collate, those being read included
  int io_jobs_ = 0;           ///< of these, those with the I/O threads
  int blocks_by_io_ = 0;      ///< blocks to go to the I/O threads before workers may try again
  std::size_t reserved_ = 0;  ///< bytes of the sample budget that live blocks hold
  Block* held_back_ = nullptr;                  ///< weighed, and over the budget
  std::vector<std::unique_ptr<Block>> blocks_;  ///< made before the graph, all of them
  std::vector<Block*> spare_blocks_;            ///< of these, those on no way
  std::vector<std::vector<Sample>> resting_;    ///< room for rest_if_idle()
  Gauge gauge_;
};

}  // namespace headrace::inline v1::detail
