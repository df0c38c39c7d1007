#pragma once

#include <headrace/apps/task/loss_settings.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/mean_loss.h>
#include <headrace/models/losses/skeleton_losses.h>
#include <headrace/training/example.h>

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::app {

/// The terms of thin sheets in one step, of one mask by a sigmoid: what several of them look at
/// (probabilities, soft skeletons) is computed once for each output. What the list augment has made
/// of the label, in the fields "soft_skeleton" and "skeleton", is taken for an output of its size,
/// whatever its parameters were; a soft skeleton that is not there is computed. Used by one thread;
/// targets must stay.
class SheetTerms {
 public:
  SheetTerms(const training::TensorMap& targets, models::MaskedMapsOptions options)
      : targets_(targets), options_(std::move(options)) {}

  /// Of cldice, skeleton, skeleton_recall or surface_distance. Throws ConfigError where a term
  /// needs a field that is not there.
  models::MeanLoss make(const LossEntry& entry, const at::Tensor& output, const at::Tensor& target);

 private:
  using Skeletons = std::pair<models::SoftSkeletonOptions, models::SheetSkeletons>;
  struct Seen {
    at::Tensor output{};
    models::MaskedMaps maps{};
    std::vector<Skeletons> skeletons{};
  };

  Seen& seen_of(const at::Tensor& output, const at::Tensor& target);
  const models::SheetSkeletons& skeletons_of(Seen& seen, std::int64_t iterations, SkeletonBy by);
  // Undefined where it is not there in the output's size.
  at::Tensor field(const char* name, const Seen& seen) const;
  at::Tensor grown_skeleton(const LossEntry& entry, const Seen& seen) const;

  const training::TensorMap& targets_;
  models::MaskedMapsOptions options_;
  std::vector<Seen> seen_;
};

}  // namespace headrace::inline v1::app
