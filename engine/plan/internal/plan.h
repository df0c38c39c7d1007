#pragma once

#include <headrace/engine/batch/internal/layout.h>
#include <headrace/engine/device/internal/batch_memory.h>
#include <headrace/engine/plan/graph_format.h>
#include <headrace/engine/plan/memory_forecast.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/stats/internal/recorder.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Sources with more fields are read row by row.
constexpr std::size_t most_gathered_fields = 64;

/// A node of the graph: what its body does to a block of rows.
struct NodePlan {
  std::string name;  ///< "read", "decode", "read+decode+augment+collate"
  int limit = 0;     ///< bodies at once; 0: every worker
  bool reads = false;
  std::size_t first_step = 0;  ///< sample steps [first_step, last_step)
  std::size_t last_step = 0;
  bool collates = false;
};

/// A recipe with everything resolved: what build() checked and the engine then runs. Const once
/// made.
struct Plan {
  Plan(const Recipe& recipe, const LoaderOptions& options);

  Recipe recipe;
  LoaderOptions options;
  Runtime runtime;
  std::shared_ptr<const IndexStream> order;
  std::uint64_t seed = 0;
  std::uint64_t loader_hash = 0;
  std::vector<std::uint32_t> step_keys;     ///< one for each sample step
  Schema schema;                            ///< of a sample after the last step
  Layout layout;                            ///< of a slab
  std::vector<std::size_t> source_columns;  ///< column of each source field, when rows are gathered
  std::vector<NodePlan> nodes;              ///< read .. collate; transfer comes after
  std::vector<Recorder::Stage>
      stages;              ///< read, one for each step, collate, transfer, one for each batch step
  bool gathers = false;    ///< rows go from the source into the slab, many a call
  bool io = false;         ///< reading happens on the I/O threads
  bool reads_now = false;  ///< a worker first tries to read by itself
  bool direct = false;     ///< one node does it all: a block lives inside one body
  int slabs = 0;
  int device_slots = 0;               ///< 0 where batches stay on the host
  int pumped_blocks = 0;              ///< blocks between read and collate at most
  std::int64_t order_length = 0;      ///< samples in one epoch of the order
  std::int64_t rows = 0;              ///< rows of this rank's batch
  std::int64_t epoch_samples = 0;     ///< of all ranks, after the tail's rule
  std::size_t sample_bytes = 0;       ///< budget of samples between read and collate
  std::size_t held_sample_bytes = 0;  ///< most of it that they take: each has a place in a slab
  std::vector<MadePiece> made;        ///< a slab's fields made by batch steps
  std::size_t made_bytes = 0;         ///< of them
  std::size_t work_bytes = 0;         ///< of the device, for what sample steps leave to it

  std::size_t read_stage() const noexcept { return 0; }
  std::size_t step_stage(std::size_t step) const noexcept { return 1 + step; }
  std::size_t collate_stage() const noexcept { return 1 + recipe.sample_steps.size(); }
  std::size_t transfer_stage() const noexcept { return collate_stage() + 1; }
  std::size_t first_stage(const NodePlan& node) const noexcept {
    if (node.reads) return read_stage();
    return node.first_step < node.last_step ? step_stage(node.first_step) : collate_stage();
  }
  std::size_t batch_step_stage(std::size_t step) const noexcept {
    return transfer_stage() + 1 + step;
  }
  /// The crew and the I/O threads behind them, as statistics count them.
  int threads() const noexcept { return runtime.threads() + runtime.io_threads(); }

  /// Batches from a place of the epoch to its end.
  std::int64_t batches(std::int64_t from = 0) const noexcept;
  /// What a loader at work takes from its runtime's budget: slabs, what batch steps make, samples
  /// between read and collate.
  std::size_t held_bytes() const noexcept;
  /// Bytes of the device that a slot takes.
  std::size_t slot_bytes() const noexcept {
    return piece_bytes(layout.delivered_bytes()) + made_bytes;
  }
  MemoryForecast forecast() const;
  std::string describe(GraphFormat format) const;

 private:
  void check() const;
  void place_device_work();
  void check_host_fields() const;
  void infer_schema();
  void key_steps();
  void lay_out_nodes();
  void count_memory();
  void name_stages();
  std::string text() const;
  std::string graphviz() const;
};

}  // namespace headrace::inline v1::detail
