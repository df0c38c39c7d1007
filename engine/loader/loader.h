#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/plan/graph_format.h>
#include <headrace/engine/plan/memory_forecast.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/stats/stats.h>
#include <headrace/engine/tensor/field.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace headrace::inline v1 {

namespace detail {
class LoaderCore;
struct EpochRun;
}  // namespace detail

/// What next() returns.
struct NextBatch {
  enum class Status : unsigned char {
    ready,    ///< `batch` holds a batch
    end,      ///< the epoch is over; the next call goes on with the following one
    timeout,  ///< nothing was ready in time
    stopped,  ///< the stop token was triggered
  };
  Status status = Status::end;
  Batch batch;
};

/// One pass over an epoch: an input range of Batch&. Destroying it early leaves the epoch at once;
/// batches in the making are abandoned.
class HEADRACE_API Epoch {
 public:
  class HEADRACE_API Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    Batch& operator*() const noexcept { return epoch_->batch_; }
    Batch* operator->() const noexcept { return &epoch_->batch_; }
    Iterator& operator++() {
      epoch_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return !epoch_->batch_; }

   private:
    friend class Epoch;
    explicit Iterator(Epoch* epoch) noexcept : epoch_(epoch) {}
    Epoch* epoch_;
  };

  Epoch(Epoch&& other) noexcept;
  Epoch& operator=(Epoch&&) = delete;
  ~Epoch();

  /// Takes the first batch; to be called once. Throws as Loader::next(), as does each step on.
  Iterator begin();
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend class Loader;
  explicit Epoch(std::shared_ptr<detail::LoaderCore> core) : core_(std::move(core)) {}
  void advance();

  std::shared_ptr<detail::LoaderCore> core_;
  std::shared_ptr<detail::EpochRun> run_;
  Batch batch_;
  bool begun_ = false;
  bool ended_ = false;
};

/// Runs a pipeline. Used by one consumer thread at a time (batches may be dropped on any thread).
/// Destroying it ends all its work; batches still on loan stay valid.
class HEADRACE_API Loader {
 public:
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  ~Loader();

  /// `for (Batch& batch : loader.epoch(e))`. Starts at the place given by seek() when that names
  /// this epoch, else at the beginning. With a stream the batches are loans to that stream: it
  /// waits until they are ready. The first epoch takes threads and memory. Throws ConfigError for a
  /// negative epoch, ResourceError, DeviceError, and PipelineError for a closed loader, on one of
  /// its runtime's own threads and in a forked process.
  Epoch epoch(std::int64_t epoch, Stream stream = {});

  /// The next batch of the running epoch; where none runs, of the one after the last begun (at
  /// first epoch 0, or the one given to seek()). Throws what went wrong with a batch in batch order
  /// (DataError, PipelineError, ResourceError, DeviceError); afterwards the epoch is over. Goes on
  /// where it was after what the caller can mend: PipelineError while all slabs are on loan,
  /// DeviceError for a stream that cannot be lent to.
  NextBatch next(std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max(),
                 std::stop_token stop = {});
  /// A batch if one is ready. At the end of an epoch nullopt once; the call after that goes on with
  /// the following epoch (position() tells them apart).
  std::optional<Batch> try_next();

  /// The next epoch(position.epoch), or next(), goes on there. Throws ConfigError for another seed,
  /// another version of the order or a place outside the epoch.
  void seek(const Position& position);
  /// After the last batch that was delivered.
  Position position() const;

  /// The fields of a sample after its last step, as batches hold them. This and what follows may be
  /// asked on any thread.
  const Schema& schema() const;
  /// Of this rank.
  std::int64_t batches_per_epoch() const;
  /// Of all ranks, before the tail's rule.
  std::int64_t samples_per_epoch() const;
  /// What the loader holds at most, in host and device memory, item by item.
  MemoryForecast forecast() const;

  /// What was counted and timed since the loader was built or reset_stats() was called.
  LoaderStats stats() const;
  void reset_stats();

  using Format = GraphFormat;
  /// The graph as built: nodes, what fused, limits, capacities, bytes.
  std::string describe(Format format = Format::text) const;

 private:
  friend class Pipeline;
  explicit Loader(std::shared_ptr<detail::LoaderCore> core);
  std::shared_ptr<detail::LoaderCore> core_;
};

}  // namespace headrace::inline v1
