#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/block_module.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>

namespace headrace::inline v1::models {

/// A part of a mixture: maps `[N, C, H, W]` to maps of the same shape, each sample on its own.
struct Expert : torch::nn::Module {
  virtual at::Tensor forward(const at::Tensor& maps) = 0;
};

struct ExpertMixtureOptions {
  std::int64_t channels = 0;
  std::int64_t chosen = 2;  ///< k: experts of each sample, at most as many as there are
  /// Above 0 an expert takes in training mode no more than `capacity * N * k / E` samples of a
  /// batch (rounded up), the first in the batch's order; the others go without it. 0: all.
  double capacity = 0.0;
};

/// What a mixture gives, and what its gate did: for `expert_balance_loss`.
struct Mixed {
  at::Tensor maps = {};    ///< `[N, C, H, W]`, of the input's type
  at::Tensor logits = {};  ///< of the gate, `[N, E]`, float from half precision
  at::Tensor chosen = {};  ///< int64 `[N, k]`, the best first
  at::Tensor counts = {};  ///< int64 `[E]`: assignments of each expert
};

/// Sparsely gated mixture of experts (Shazeer et al., arXiv 1701.06538) with one choice for a whole
/// sample: the gate is a 1x1 convolution of the average over all pixels, the k best experts of a
/// sample are weighed by a softmax over their k logits.
///
/// The N * k assignments are sorted by expert, and each expert works once, on as many rows as it
/// may get: N, or what its capacity allows. So neither what a step computes nor what memory it
/// takes depends on the gate's choice, and nothing waits for the device. Rows that an expert did
/// not get are zeros to it and weigh nothing: an expert that nobody chose has gradients of zero.
/// Results on a CPU do not depend on the number of threads.
///
/// Names: `gate`, `experts.0`, ..., and the buffer `load` `[E]`, which counts assignments in
/// training mode (as floats: exactly up to 2^24). Block: `experts`, all that is behind the gate.
class HEADRACE_API ExpertMixture : public BlockModule {
 public:
  using Experts = std::vector<std::shared_ptr<Expert>>;

  /// Throws `ConfigError` without channels, for k outside 1 to the number of experts, and for a
  /// negative capacity.
  ExpertMixture(const ExpertMixtureOptions& options, Experts experts);

  /// Throws `DataError` for maps of another shape than `[N, channels, H, W]`, `ConfigError` for an
  /// expert that changes the shape.
  Mixed forward(const at::Tensor& maps);

  const Experts& experts() const { return experts_; }
  /// Assignments that each expert got, `[E]`.
  const at::Tensor& load() const { return load_; }

 private:
  struct Routes;

  at::Tensor gate_logits(const at::Tensor& maps) const;
  Routes routes_of(const at::Tensor& chosen, const at::Tensor& shares) const;
  std::int64_t rows_of_expert(std::int64_t samples) const;
  at::Tensor mix(const at::Tensor& maps, const Routes& routes) const;

  ExpertMixtureOptions options_;
  torch::nn::Conv2d gate_{nullptr};
  Experts experts_;
  at::Tensor load_;
};

/// How evenly experts are used: the entropy of their shares beside the largest that it can be,
/// log E; 1 where all do the same, 0 where one does everything and where nothing is counted. Waits
/// for the device.
HEADRACE_API double load_evenness(const at::Tensor& load);

}  // namespace headrace::inline v1::models
