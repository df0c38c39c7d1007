#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct TraceOptions {
  /// What a thread's ring holds; when it is full the oldest go. Rounded up to a power of two; 48
  /// bytes each.
  std::size_t events_per_thread = 16384;
};

/// A piece of a thread's time that one stage, or one node of the graph on a block of rows, took.
/// Times are of the steady clock.
struct TraceSpan {
  int thread = 0;        ///< of Trace::threads
  std::size_t name = 0;  ///< of Trace::names
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t epoch = 0;
  std::int64_t batch = -1;
  std::int64_t row = -1;    ///< the first of the batch's rows
  std::int64_t rows = 1;    ///< 0: a whole batch
  std::int64_t index = -1;  ///< of the record, where it is one row
};

/// A batch on its way; a time that is not in the window is -1.
struct TraceBatch {
  std::int64_t sequence = 0;  ///< counts the loader's batches, whatever the epoch
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  std::int64_t rows = 0;
  std::int64_t admitted_ns = -1;   ///< it got a slab
  std::int64_t collated_ns = -1;   ///< its last row was in
  std::int64_t ready_ns = -1;      ///< it may be asked for, its copy to a device issued
  std::int64_t asked_ns = -1;      ///< the consumer called next() for it
  std::int64_t delivered_ns = -1;  ///< next() returned
  std::int64_t dropped_ns = -1;    ///< nobody wanted it
};

/// Queues of a loader from a moment on.
struct TraceCounts {
  std::int64_t at_ns = 0;
  std::int64_t ready = 0;    ///< batches to be had at once
  std::int64_t on_loan = 0;  ///< batches that the trainer holds
  std::int64_t free_slabs = 0;
  std::int64_t blocks = 0;        ///< between read and collate; 0 where a block stays in one body
  std::int64_t sample_bytes = 0;  ///< of them, as the source weighs them
};

/// A batch's copy to a device, of those that were timed.
struct TraceCopy {
  std::int64_t issued_ns = 0;    ///< by the host
  std::int64_t duration_ns = 0;  ///< by the device's clock
  std::int64_t exposed_ns = 0;   ///< the trainer's stream had nothing to do but wait for it
};

/// What one loader did in a window.
struct Trace {
  struct Name {
    std::string name{};      ///< of a stage, or of a node: "read+decode+collate"
    std::string category{};  ///< a stage's role, or "block"
  };

  std::string loader{};
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  std::vector<Name> names{};
  std::vector<std::string> threads{};  ///< as the system calls them: "headrace-0"
  /// By thread, then by start, what encloses others before them. Of long blocks one row in sixteen
  /// has spans of its own.
  std::vector<TraceSpan> spans{};
  std::vector<TraceBatch> batches{};  ///< in order of admission
  std::vector<TraceCounts> counts{};
  std::vector<TraceCopy> copies{};
  std::vector<std::int64_t> lost{};  ///< spans of each thread that its ring had no room for
  std::int64_t lost_marks = 0;       ///< likewise of batches and counts
};

}  // namespace headrace::inline v1
