#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>
#include <headrace/models/losses/topology_workers.h>

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct TopologyLossOptions {
  std::int64_t side = 48;                   ///< voxels of the crop on each axis, at most; 1 to 48
  std::optional<std::int64_t> ignore = {};  ///< value of labels that give nothing
};

/// What is true of a batch.
struct TopologyTargets {
  /// Betti numbers of the foreground of each row's crop, `[N, 3]` of integers: components that
  /// share at least a corner (26 neighbours), tunnels, and cavities divided by faces (6). What is
  /// ignored is no foreground.
  at::Tensor betti = {};
  /// Where `ignore` is looked for: the logits' shape, or `[N, D, H, W]`. Not needed without it.
  at::Tensor labels = {};
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
};

/// The part of an axis that is looked at.
struct TopologyRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// The middle of an axis: min(size, side) voxels from (size - min(size, side)) / 2, rounded down.
HEADRACE_API TopologyRange topology_range(std::int64_t size, std::int64_t side);

/// Topological loss by persistent homology (Hu, Li, Samaras and Chen, NeurIPS 2019) of the middle
/// of each row: `topology_cost` of `sigmoid(logits)`, where what is ignored has probability 0; the
/// mean over rows by their weights. A row's cost is a sum over its features: small factors suit it,
/// behind other terms that have learnt most. `logits` are `[N, 1, D, H, W]` of a foreground.
/// Computed in float from half precision, in double from double; gradients lead to critical voxels
/// alone, and have none of their own. A row with logits that are not numbers has no number for its
/// cost. On the calling thread, and it waits for the device: a training step takes `TopologyLoss`.
/// On `meta` it is zero. Throws `ConfigError` for other shapes and options, and for Betti numbers
/// below 0.
HEADRACE_API MeanLoss topology_loss(const at::Tensor& logits, const TopologyTargets& targets,
                                    const TopologyLossOptions& options = {});

namespace detail {

// On the host: what the workers read and write.
struct TopologyCrops;

struct TopologyBatch {
  at::Tensor p = {};  // probabilities of the crops, with their graph
  at::Tensor of_samples = {};
  std::shared_ptr<TopologyCrops> crops = {};  // null on `meta`
};

}  // namespace detail

/// A loss that `TopologyLoss` has begun. Dropped, it costs what its workers do until they are done.
class TopologyPending {
 private:
  friend class TopologyLoss;
  detail::TopologyBatch batch_;
  std::vector<std::future<void>> jobs_;
};

/// `topology_loss` beside a training step: `begin` queues the copy of the crops to page-locked
/// memory and hands them to threads, `finish` gives the loss when they are done. Between the two go
/// the other terms. The wait in `finish` is the one wait, and is counted; a step that does neither
/// pays nothing. The same bytes for any number of threads. One thread calls it.
class HEADRACE_API TopologyLoss {
 public:
  /// Throws as `topology_loss` and `TopologyWorkers` do.
  explicit TopologyLoss(const TopologyLossOptions& options = {},
                        const TopologyWorkersOptions& workers = {});

  /// Waits for nothing while the workers have places. Betti numbers on the host must stay as they
  /// are until `finish`. Throws as `topology_loss` does.
  TopologyPending begin(const at::Tensor& logits, const TopologyTargets& targets);

  /// Waits for the workers, and throws what failed there. Once for each that this has begun; else
  /// throws `ConfigError`.
  MeanLoss finish(TopologyPending pending);

  const WorkerWaits& waits() const { return workers_.waits(); }

 private:
  TopologyLossOptions options_;
  TopologyWorkers workers_;
};

}  // namespace headrace::inline v1::models
