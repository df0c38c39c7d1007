#pragma once

#include <headrace/benchmarks/harness/peer.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/mechanics/workload.h>

#include <string>

namespace headrace::inline v1::bench {

/// A peer that may be missing.
struct MaybePeer {
  Peer* peer = nullptr;
  std::string missing{};  ///< why there is none
};

/// What a section measures, how often, and where it reports to.
struct Bench {
  const Workload& workload;
  Report& report;
  int steps = 1;  ///< of a rate
  int repeats = 1;
  MaybePeer tried{};  ///< this program, with cudnn_benchmark
  MaybePeer torch{};  ///< PyTorch, the same step
};

/// Steps in every precision and layout, under cudnn_benchmark, and PyTorch's, in turn: who is how
/// much faster than what.
void measure_arithmetic(const Bench& bench);

/// A step whose blocks are checkpointed beside the plain one: loss and gradients, time, memory.
void measure_checkpointing(const Bench& bench);

}  // namespace headrace::inline v1::bench
