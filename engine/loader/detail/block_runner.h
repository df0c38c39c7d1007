#pragma once

#include <headrace/engine/loader/detail/bad_sample_log.h>
#include <headrace/engine/loader/detail/flight.h>
#include <headrace/engine/loader/detail/stopwatch.h>
#include <headrace/engine/plan/internal/plan.h>
#include <headrace/engine/stats/internal/recorder.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Holds a step's limit where its node cannot: a replaced row runs all steps in the node that found
/// it bad.
class Gate {
 public:
  explicit Gate(int places) : free_(places) {}

  /// A place inside.
  class Turn {
   public:
    explicit Turn(Gate& gate) : gate_(gate) {
      std::unique_lock lock(gate_.mutex_);
      gate_.freed_.wait(lock, [this] { return gate_.free_ > 0; });
      --gate_.free_;
    }
    ~Turn() {
      std::lock_guard lock(gate_.mutex_);
      ++gate_.free_;
      gate_.freed_.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Gate& gate_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  int free_;
};

/// An error that says stage and origin, with `cause` nested: a ResourceError for lack of memory or
/// descriptors, a DeviceError for the device's, else a DataError. Where there is no memory to say
/// so, a std::bad_alloc. The message ends with `way_out`.
std::exception_ptr with_stage(const std::string& stage, const Origin& origin,
                              const std::exception_ptr& cause,
                              const std::string& way_out = {}) noexcept;

/// What node bodies do to the rows of a block: read, steps, collate, and the rules for bad samples.
/// Const but for the counters; one call works on one block.
class BlockRunner {
 public:
  BlockRunner(const Plan& plan, SlabPool& pool, Recorder& recorder);

  /// Asks the order which records the block's rows are; if it throws, the batch fails.
  void order(Block& block) const noexcept;
  /// Bytes that the block's samples need between read and collate, as the source says.
  std::size_t estimate(const Block& block) const noexcept;
  /// Reads all rows if none makes the calling worker wait.
  bool read_now(Block& block, int thread) const noexcept;
  /// Runs a node's part on every row; never throws.
  void run(const NodePlan& node, Block& block, int thread) const noexcept;
  /// The last touch before a batch leaves collate: rows without samples, ragged fields.
  void finish(Flight& flight) const;

 private:
  void work(const NodePlan& node, Block& block, int thread) const noexcept;
  void gather(Block& block, int thread) const;
  void gather_one_by_one(Block& block, int thread) const;
  void run_row(const NodePlan& node, Block& block, std::int64_t k, Stopwatch& watch) const;
  Sample& fresh_sample(Block& block, std::int64_t k) const;
  void read(Block& block, std::int64_t k) const;
  void step(std::size_t s, Block& block, std::int64_t k, int thread) const;
  void bind_rows(Block& block, std::int64_t k) const;
  void collate(Block& block, std::int64_t k) const;
  void put_span(std::size_t name, const Block& block, int thread,
                std::int64_t begun) const noexcept;
  Activity::State at_work(const Block& block, std::size_t stage) const noexcept;
  void fail_whole(Block& block, const char* stage) const noexcept;
  void handle(const NodePlan& node, Block& block, std::int64_t k, std::size_t stage,
              int thread) const noexcept;
  void judge(const NodePlan& node, Block& block, std::int64_t k, std::size_t stage,
             int thread) const;
  void replace(const NodePlan& node, Block& block, std::int64_t k, BadSampleLog::Case bad,
               int thread) const;
  void shrink(Block& block, std::int64_t k, const BadSampleLog::Case& bad) const;
  void fail(Block& block, std::int64_t k, std::exception_ptr error) const;
  void note(Block& block, const BadSampleLog::Case& bad) const;
  std::int64_t replacement(const Block& block, std::int64_t k, std::uint32_t attempt) const;
  RandomKey key(const Block& block, std::int64_t k, std::uint32_t operation) const;
  Origin origin(const Block& block, std::int64_t k) const;
  Origin origin_without_part(const Block& block, std::int64_t k) const;
  BadSampleLog::Case bad_case(const Block& block, std::int64_t k, std::size_t stage,
                              std::string cause) const;

  const Plan& plan_;
  SlabPool& pool_;
  Recorder& recorder_;
  std::vector<std::unique_ptr<Gate>>
      gates_;  ///< of the steps with a limit, where rows are replaced
};

}  // namespace headrace::inline v1::detail
