#pragma once

#include <headrace/apps/task/loss_settings.h>
#include <headrace/models/losses/topology_loss.h>
#include <headrace/training/example.h>
#include <headrace/training/loss_terms.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::app {

/// What the terms of a list need to know of the data.
struct LossContext {
  bool sigmoid = false;           ///< scores are of labels by themselves, or of one mask
  std::int64_t ignore = -1;       ///< label of pixels that count nowhere; negative: none
  at::Tensor class_weights{};     ///< [classes], on the compute device; undefined: none
  at::Tensor positive_weights{};  ///< of labels by themselves, likewise
  /// Beside the step, of a list with the term topology; null: there is none.
  std::shared_ptr<models::TopologyLoss> topology{};
  std::int64_t epoch = 0;  ///< of the stage, by which some terms are there or not
  std::int64_t step = 0;   ///< likewise
  /// Name of the target, beside which there may be smaller ones, NAME_1, NAME_2, ...: an output of
  /// deep supervision is judged by that of its size. Empty: there is one target.
  std::string target{};
};

/// The terms of a list, each by its name ("cross_entropy", with others of its kind and another
/// output "dice_deep"). A target [N, H, W] or [N, Z, Y, X] that has no smaller one of an output's
/// size is judged at the nearest of its pixels, or of its voxels as nnU-Net takes them
/// (nearest-exact); so are masks [N, K, H, W] of sigmoids. With `resize: bilinear` it is the whole
/// target blended to soft values, of which those with a part of an ignored pixel are ignored, too.
/// Computed on the device of the output, without waiting for it, but for the term topology where
/// a step has it: it is begun before the others, waited for behind them, and comes last. Where a
/// step has it not it is 0 and weighs nothing. Throws
/// ConfigError for an output that the network does not give, where there is no such target, and for
/// a term or soft target of sigmoids where scores are of a softmax.
std::vector<training::Term> loss_terms(const LossList& list, const training::Output& output,
                                       const training::Example& example,
                                       const LossContext& context);

}  // namespace headrace::inline v1::app
