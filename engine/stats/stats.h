#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Quantiles of a duration, in seconds, from a histogram whose buckets are at most 25 % wide.
struct Durations {
  std::int64_t count = 0;
  double total_s = 0;
  double p50_s = 0;
  double p99_s = 0;
  double max_s = 0;
};

/// One stage of the pipeline since the statistics were last reset.
struct StageStats {
  /// Which threads run it, and so what caps it.
  enum class Place : unsigned char { worker, io, transfer };

  std::string name;  ///< step: "read", "flip", "collate", "transfer"
  std::string role;  ///< "read", "decode", "augment", "collate" or "transfer"
  Place place = Place::worker;
  int limit = 0;           ///< samples at once; 0: as many as there are threads at its place
  std::int64_t items = 0;  ///< samples (batches for "transfer")
  std::int64_t failures = 0;
  double busy_s = 0;  ///< summed over threads
  Durations service;  ///< one item
};

/// Transfer to a device since the last reset; all zero where batches stay on the host.
struct TransferStats {
  std::int64_t copies = 0;  ///< one a batch
  std::int64_t bytes = 0;
  std::int64_t timed = 0;  ///< batches of which the two times below are the sums
  double copy_s = 0;       ///< of the copy engine
  double exposed_s = 0;    ///< the trainer's stream had nothing to do but wait for a batch
  double exposed_since_built_s = 0;  ///< likewise, whatever was reset since the loader was built
  bool page_locked = false;
  std::int64_t device_bytes = 0;  ///< memory held on the device
};

/// What loader.stats() returns; all durations in seconds, all counts since the last reset.
struct LoaderStats {
  std::string loader;
  double elapsed_s = 0;
  double first_batch_s = 0;  ///< from the start of the first epoch to its first batch
  std::int64_t batches = 0;  ///< delivered to the trainer
  std::int64_t samples = 0;
  std::int64_t bytes = 0;  ///< of delivered rows
  int threads = 0;
  int io_threads = 0;
  std::vector<StageStats> stages;

  Durations wait;  ///< of the trainer in next(), per batch
  std::int64_t waits_over_50us = 0;
  Durations step;  ///< of the trainer between two calls of next()
  /// Time with no slab free to start another batch: the trainer is the slow side.
  double room_wait_s = 0;
  double reorder_wait_s = 0;  ///< time that finished batches waited for an earlier one, summed
  double ready_depth = 0;     ///< mean number of ready batches over time
  double readiness = 0;       ///< share of time with at least one batch ready
  double full_share = 0;      ///< share of time with every slab ready or on loan
  int slabs = 0;
  int slabs_on_loan = 0;        ///< batches that the trainer holds, in slabs or slots of a device
  std::int64_t bytes_held = 0;  ///< slabs and pooled samples at this moment
  std::int64_t peak_bytes_held = 0;
  std::int64_t bad_samples = 0;  ///< of delivered batches, since the loader was built
  TransferStats transfer;
};

}  // namespace headrace::inline v1
