#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/stats/stats.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// Which threads do a stage's work; it decides what the stage can deliver at most.
enum class StageRole {
  worker,    ///< the graph's workers, shared with every other worker stage
  io,        ///< the runtime's I/O threads
  transfer,  ///< one batch after the other
};

/// What one stage did during a window.
struct StageLoad {
  std::string name{};   ///< of the step: "flip"
  std::string stage{};  ///< its place in the graph: "augment"; empty if the same as the name
  StageRole role = StageRole::worker;
  double busy_s = 0.0;             ///< sum of service times over all threads
  std::uint64_t items = 0;         ///< samples done
  unsigned concurrency_limit = 0;  ///< the step's own limit; 0 for none
};

/// What a loader did during a window: the facts a verdict is drawn from.
struct LoaderLoad {
  double elapsed_s = 0.0;   ///< time the consumer was busy or waiting
  unsigned threads = 1;     ///< workers
  unsigned io_threads = 1;  ///< threads for reads that can block
  std::vector<StageLoad> stages{};
  std::uint64_t delivered = 0;   ///< samples the consumer took
  double consumer_wait_s = 0.0;  ///< time the consumer was blocked in next()
  /// Share of time with the ready queue full; negative if unknown.
  double ready_full_share = -1.0;
  unsigned slabs = 0;  ///< batches that can be under way at once; 0 if unknown
};

/// What a loader's own statistics say, in this form. The statistics must have been reset at the
/// window's start.
HEADRACE_API LoaderLoad loader_load(const LoaderStats& stats);

/// The machine's side of the matter. Negative means not measured.
struct HostFacts {
  unsigned usable_cores = 0;        ///< affinity and quota; 0 if unknown
  double process_cpu_share = -1.0;  ///< of the usable cores
  /// Of the usable cores, at most; negative: all that the process leaves.
  double idle_cpu_share = -1.0;
  double io_pressure_share = -1.0;     ///< share of the time in which some task waited for storage
  double read_from_disk_share = -1.0;  ///< of the bytes that were asked for
};

/// What a stage could deliver, were it alone in the way.
struct StageCapacity {
  std::string name{};
  std::string stage{};
  StageRole role = StageRole::worker;
  double service_s = 0.0;                                     ///< mean work per sample
  unsigned parallel = 1;                                      ///< how many run at once at most
  double capacity = std::numeric_limits<double>::infinity();  ///< samples/s
  double headroom = std::numeric_limits<double>::infinity();  ///< capacity / demand
  double pool_share = 1.0;  ///< share of the work of the threads it runs on
  bool own_limit = false;   ///< held back by its own concurrency limit, not by the pool of threads
};

/// Samples/s the consumer would take if it never waited; 0 if nothing (worth the name) consumes.
HEADRACE_API double consumer_demand(const LoaderLoad& load);

/// Capacity and headroom of each stage that did anything, least headroom first. Worker stages share
/// the workers: their capacity is threads / (sum of their service times), the one with the largest
/// share of it first. Without a consumer, headroom is taken against what was delivered.
HEADRACE_API std::vector<StageCapacity> stage_capacities(const LoaderLoad& load);

}  // namespace headrace::inline v1::monitor
