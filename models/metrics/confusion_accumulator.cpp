#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/confusion_accumulator.h>

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ops/argmax.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace headrace::inline v1::models {

namespace {

// Pixels whose indices, of 8 bytes each and more, are made together: volumes have many.
constexpr std::int64_t most_at_once = std::int64_t{1} << 22;

}  // namespace

ConfusionAccumulator::ConfusionAccumulator(std::int64_t classes)
    : classes_(ConfusionMatrix(classes).classes()) {}

void ConfusionAccumulator::add(const at::Tensor& logits, const at::Tensor& target,
                               const at::Tensor& present) {
  const at::Tensor scores = logits.narrow(1, 0, classes_);
  if (target.dim() < 2 || target.numel() <= most_at_once)
    return add_predicted(at::argmax(scores, 1), target, present);
  const std::int64_t side = target.size(1);
  const std::int64_t step = std::max<std::int64_t>(1, side * most_at_once / target.numel());
  at::Tensor counts = counts_;
  for (std::int64_t first = 0; first < side; first += step) {
    const std::int64_t count = std::min(step, side - first);
    const bool of_each = present.defined() && present.size(1) == side;
    counts =
        with(counts, at::argmax(scores.narrow(2, first, count), 1), target.narrow(1, first, count),
             of_each ? present.narrow(1, first, count) : present);
  }
  counts_ = counts;
}

void ConfusionAccumulator::add_predicted(const at::Tensor& predicted, const at::Tensor& target,
                                         const at::Tensor& present) {
  counts_ = with(counts_, predicted, target, present);
}

at::Tensor ConfusionAccumulator::with(const at::Tensor& counts, const at::Tensor& predicted,
                                      const at::Tensor& target, const at::Tensor& present) const {
  const std::int64_t cells = classes_ * classes_;
  const at::Tensor truth = target.to(at::kLong);
  at::Tensor cell = truth * classes_ + predicted;
  // Two more bins: rows with an impossible target, and rows that do not count.
  cell = at::where((truth < 0) | (truth >= classes_), cells, cell);
  if (present.defined()) cell = at::where(present, cell, cells + 1);
  cell = cell.flatten();
  // Not bincount: it waits for the largest cell. Not in place: state() may be in a checkpoint.
  const at::Tensor before =
      counts.defined() ? counts.to(cell.device()) : at::zeros({cells + 2}, cell.options());
  return at::scatter_add(before, 0, cell, at::ones_like(cell));
}

void ConfusionAccumulator::restore(const at::Tensor& state) {
  const std::int64_t bins = classes_ * classes_ + 2;
  if (state.dim() != 1 || state.numel() != bins || state.scalar_type() != at::kLong)
    throw ConfigError("[ConfusionAccumulator] sums of " + std::to_string(classes_) +
                      " classes are " + std::to_string(bins) + " integers, got " +
                      std::to_string(state.numel()));
  counts_ = state;
}

ConfusionMatrix ConfusionAccumulator::matrix() const {
  const std::int64_t cells = classes_ * classes_;
  if (!counts_.defined()) return ConfusionMatrix(classes_);
  const at::Tensor host = counts_.to(at::kCPU).contiguous();
  const std::int64_t* values = host.const_data_ptr<std::int64_t>();
  if (values[cells] > 0)
    throw DataError("[ConfusionAccumulator] targets must lie in [0, " + std::to_string(classes_) +
                    "), got " + std::to_string(values[cells]) + " rows outside");
  return {classes_, std::vector<std::int64_t>(values, values + cells)};
}

}  // namespace headrace::inline v1::models
