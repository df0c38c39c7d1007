#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/probability_histogram.h>

#include <string>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace headrace::inline v1::models {

ProbabilityHistogram::ProbabilityHistogram(std::int64_t channels, std::int64_t bins)
    : channels_(channels), bins_(bins) {
  if (channels < 1 || bins < 2)
    throw ConfigError("[ProbabilityHistogram] needs a channel and 2 bins, got " +
                      std::to_string(channels) + " and " + std::to_string(bins));
}

void ProbabilityHistogram::add(const at::Tensor& probabilities, const at::Tensor& target,
                               const at::Tensor& present) {
  const std::int64_t cells = channels_ * 2 * bins_;
  const at::Tensor scaled = probabilities.to(at::kFloat) * static_cast<double>(bins_);
  const at::Tensor bin = at::clamp(scaled.to(at::kLong), 0, bins_ - 1);
  const at::Tensor row = bin + (target >= 0.5).to(at::kLong) * bins_;
  const at::Tensor channel = at::arange(channels_, bin.options()).unsqueeze(1) * (2 * bins_);
  at::Tensor cell = row.reshape({row.size(0), channels_, -1}) + channel;
  if (present.defined())
    cell = at::where(present.expand_as(row).reshape(cell.sizes()), cell, cells);
  cell = cell.flatten();
  // Neither waits, unlike bincount, nor in place, since state() may be in a checkpoint.
  const at::Tensor before =
      counts_.defined() ? counts_.to(cell.device()) : at::zeros({cells + 1}, cell.options());
  counts_ = at::scatter_add(before, 0, cell, at::ones_like(cell));
}

std::vector<ScoreGroup> ProbabilityHistogram::groups(std::int64_t channel) const {
  std::vector<ScoreGroup> groups(static_cast<std::size_t>(bins_));
  for (std::int64_t bin = 0; bin < bins_; ++bin)
    groups[static_cast<std::size_t>(bin)].threshold =
        static_cast<double>(bin) / static_cast<double>(bins_);
  if (!counts_.defined()) return groups;
  const at::Tensor host = counts_.narrow(0, channel * 2 * bins_, 2 * bins_).to(at::kCPU);
  const std::int64_t* counts = host.const_data_ptr<std::int64_t>();
  for (std::size_t bin = 0; bin < groups.size(); ++bin) {
    groups[bin].negatives = counts[bin];
    groups[bin].positives = counts[groups.size() + bin];
  }
  return groups;
}

ConfusionMatrix ProbabilityHistogram::matrix(std::int64_t channel, double threshold) const {
  std::vector<std::int64_t> counts(4, 0);
  for (const ScoreGroup& group : groups(channel)) {
    const std::size_t decided = group.threshold >= threshold ? 1 : 0;
    counts[decided] += group.negatives;
    counts[2 + decided] += group.positives;
  }
  return {2, std::move(counts)};
}

double ProbabilityHistogram::best_threshold(std::int64_t channel, ThresholdGoal goal) const {
  return models::best_threshold(groups(channel), goal);
}

void ProbabilityHistogram::restore(const at::Tensor& state) {
  const std::int64_t cells = channels_ * 2 * bins_ + 1;
  if (state.dim() != 1 || state.numel() != cells || state.scalar_type() != at::kLong)
    throw ConfigError("[ProbabilityHistogram] counts of " + std::to_string(channels_) +
                      " channels in " + std::to_string(bins_) + " bins are " +
                      std::to_string(cells) + " integers, got " + std::to_string(state.numel()));
  counts_ = state;
}

}  // namespace headrace::inline v1::models
