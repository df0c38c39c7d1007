#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/device_event.h>
#include <headrace/models/losses/cubical_persistence.h>
#include <headrace/models/losses/targets.h>
#include <headrace/models/losses/topology_loss.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <thread>

#include <ATen/core/TensorBody.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/where.h>
#include <c10/core/Event.h>
#include <c10/util/accumulate.h>

namespace headrace::inline v1::models {

namespace detail {

// Page-locked where the device is a GPU; the first two may be read once `copied`.
struct TopologyCrops {
  at::Tensor probabilities;  // [N, 1, D, H, W]
  at::Tensor betti;          // [N, 3] of int64
  at::Tensor gradient;       // as probabilities
  at::Tensor costs;          // [N], of their type
  std::optional<c10::Event> copied;
};

}  // namespace detail

namespace {

using detail::TopologyBatch;
using detail::TopologyCrops;

constexpr std::int64_t largest_side = 48;

void require(const TopologyLossOptions& options) {
  if (options.side < 1 || options.side > largest_side)
    throw ConfigError("[topology_loss] side must be 1 to " + std::to_string(largest_side) +
                      ", got " + std::to_string(options.side));
}

void require(const at::Tensor& logits, const TopologyTargets& targets,
             const TopologyLossOptions& options) {
  if (logits.dim() != 5 || logits.size(1) != 1 ||
      c10::multiply_integers(logits.sizes().slice(2)) == 0)
    throw ConfigError("[topology_loss] logits must be [N, 1, depth, height, width], got " +
                      detail::shape_text(logits));
  const at::Tensor& betti = targets.betti;
  if (!betti.defined() || betti.dim() != 2 || betti.size(0) != logits.size(0) ||
      betti.size(1) != 3 || !at::isIntegralType(betti.scalar_type(), /*includeBool=*/false))
    throw ConfigError("[topology_loss] Betti numbers must be integers [" +
                      std::to_string(logits.size(0)) + ", 3], got " +
                      (betti.defined() ? detail::shape_text(betti) : std::string("none")));
  if (options.ignore && !targets.labels.defined())
    throw ConfigError("[topology_loss] labels are needed to ignore some, there are none");
}

at::Tensor cropped(at::Tensor volumes, std::int64_t side) {
  for (std::int64_t axis = 2; axis < 5; ++axis) {
    const TopologyRange range = topology_range(volumes.size(axis), side);
    volumes = volumes.narrow(axis, range.begin, range.size);
  }
  return volumes;
}

at::Tensor probabilities(const at::Tensor& logits, const TopologyTargets& targets,
                         const TopologyLossOptions& options) {
  at::Tensor scores = detail::in_full_precision(cropped(logits, options.side));
  at::Tensor labels = scores;
  if (targets.labels.defined())
    labels =
        cropped(detail::channel_targets("topology_loss", logits, targets.labels), options.side);
  const at::Tensor counts = detail::counted_targets(labels, targets.of_samples, options.ignore);
  // Not where() of the probabilities: what is ignored may be no number, and its gradient is zero.
  if (counts.defined())
    scores = at::where(counts, scores, -std::numeric_limits<double>::infinity());
  return at::sigmoid(scores);
}

at::Tensor empty_host(at::IntArrayRef sizes, at::ScalarType type, bool pinned) {
  return at::empty(sizes, at::dtype(type).pinned_memory(pinned));
}

// Of a GPU the copy is queued.
at::Tensor on_host(const at::Tensor& values) {
  if (!values.is_cuda()) return values.contiguous();
  at::Tensor host = empty_host(values.sizes(), values.scalar_type(), true);
  return host.copy_(values.contiguous(), /*non_blocking=*/true);
}

TopologyBatch batch_of(const at::Tensor& logits, const TopologyTargets& targets,
                       const TopologyLossOptions& options) {
  require(logits, targets, options);
  TopologyBatch batch{.p = probabilities(logits, targets, options),
                      .of_samples = targets.of_samples};
  if (batch.p.is_meta()) return batch;
  const bool pinned = batch.p.is_cuda();
  const at::ScalarType type = batch.p.scalar_type();
  batch.crops = std::make_shared<TopologyCrops>(
      TopologyCrops{.probabilities = on_host(batch.p.detach()),
                    .betti = on_host(targets.betti.to(at::kLong)),
                    .gradient = empty_host(batch.p.sizes(), type, pinned),
                    .costs = empty_host({batch.p.size(0)}, type, pinned),
                    .copied = {}});
  if (pinned) batch.crops->copied = event_behind(batch.p.device());
  return batch;
}

// Asks now and then: synchronize() would keep a core busy.
void wait_for_copy(const TopologyCrops& crops) {
  while (crops.copied && !crops.copied->query())
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

template <typename Real>
void judge_row(TopologyCrops& crops, std::int64_t row) {
  const at::Tensor& given = crops.probabilities;
  const std::array<std::int64_t, 3> shape{given.size(2), given.size(3), given.size(4)};
  const auto voxels = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
  const std::size_t begin = static_cast<std::size_t>(row) * voxels;
  const std::int64_t* betti = crops.betti.const_data_ptr<std::int64_t>() + 3 * row;
  const TopologyCrop<Real> crop{.probabilities = {given.const_data_ptr<Real>() + begin, voxels},
                                .shape = shape,
                                .betti = {betti[0], betti[1], betti[2]}};
  const double cost = topology_cost<Real>(crop, {crops.gradient.data_ptr<Real>() + begin, voxels});
  crops.costs.data_ptr<Real>()[row] = static_cast<Real>(cost);
}

void judge(TopologyCrops& crops, std::int64_t row) {
  wait_for_copy(crops);
  if (crops.probabilities.scalar_type() == at::kDouble) return judge_row<double>(crops, row);
  judge_row<float>(crops, row);
}

// Of each row, by a linear function of p that has the costs' value and gradient: nothing of it
// depends on the order in which a device adds.
at::Tensor costs_of(const TopologyBatch& batch) {
  constexpr std::array<std::int64_t, 4> in_row{1, 2, 3, 4};
  if (!batch.crops) return (batch.p * 0.0).sum(in_row);
  const at::Tensor gradient = batch.crops->gradient.to(batch.p.device(), /*non_blocking=*/true);
  const at::Tensor costs = batch.crops->costs.to(batch.p.device(), /*non_blocking=*/true);
  const at::Tensor along = (batch.p * gradient).sum(in_row);
  return along - along.detach() + costs;
}

MeanLoss mean_of(const TopologyBatch& batch) {
  const at::Tensor costs = costs_of(batch);
  return detail::weighted_mean(
      costs, batch.of_samples.defined() ? batch.of_samples : at::ones_like(costs.detach()));
}

}  // namespace

TopologyRange topology_range(std::int64_t size, std::int64_t side) {
  const std::int64_t taken = std::min(size, side);
  return {.begin = (size - taken) / 2, .size = taken};
}

MeanLoss topology_loss(const at::Tensor& logits, const TopologyTargets& targets,
                       const TopologyLossOptions& options) {
  require(options);
  const TopologyBatch batch = batch_of(logits, targets, options);
  for (std::int64_t row = 0; batch.crops && row < logits.size(0); ++row)
    judge(*batch.crops, row);
  return mean_of(batch);
}

TopologyLoss::TopologyLoss(const TopologyLossOptions& options,
                           const TopologyWorkersOptions& workers)
    : options_(options), workers_(workers) {
  require(options);
}

TopologyPending TopologyLoss::begin(const at::Tensor& logits, const TopologyTargets& targets) {
  TopologyPending pending;
  pending.batch_ = batch_of(logits, targets, options_);
  const std::shared_ptr<TopologyCrops>& crops = pending.batch_.crops;
  for (std::int64_t row = 0; crops && row < logits.size(0); ++row)
    pending.jobs_.push_back(workers_.submit([crops, row] { judge(*crops, row); }));
  return pending;
}

MeanLoss TopologyLoss::finish(TopologyPending pending) {
  if (!pending.batch_.p.defined())
    throw ConfigError("[topology_loss] finish takes what begin gave, and once; got nothing");
  workers_.collect(pending.jobs_);
  return mean_of(pending.batch_);
}

}  // namespace headrace::inline v1::models
