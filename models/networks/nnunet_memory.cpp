#include <headrace/models/networks/detail/nnunet_shape.h>
#include <headrace/models/networks/nnunet_memory.h>

#include <algorithm>

namespace headrace::inline v1::models {

namespace {

using detail::NnUNetShape;
using detail::NnUNetStage;

// A convolution, its norm and its activation keep two maps: what the convolution gave (of which the
// norm's gradient is made) and what the activation gave (which the next convolution takes in place
// of its input).
constexpr double kept_maps = 2.0;

// Gradients beside them, widest where the backward pass begins: of an activation and of what the
// norm gave.
constexpr double gradient_maps = 2.0;

// Values of one map at each stage, for a voxel of the input.
std::vector<double> shares_of(const NnUNetShape& shape) {
  std::vector<double> shares;
  double share = 1.0;
  for (const NnUNetStage& stage : shape.stages) {
    for (const std::int64_t step : stage.stride)
      share /= static_cast<double>(step);
    shares.push_back(share);
  }
  return shares;
}

double kept_by_decoder(const NnUNetShape& shape, const std::vector<double>& shares) {
  double kept = 0.0;
  for (std::size_t index = 0; index + 1 < shape.stages.size(); ++index) {
    const NnUNetStage& stage = shape.stages[index];
    const auto features = static_cast<double>(stage.features);
    const double joined = 2 * features;
    kept +=
        shares[index] * (joined + kept_maps * features * static_cast<double>(stage.decoder_convs));
    if (index == 0 || shape.deep_supervision)
      kept += shares[index] * static_cast<double>(shape.classes);
  }
  return kept;
}

// What is alive at once without gradients: the maps that the decoder waits for, and at a stage of
// the encoder `in_encoder` maps; of the decoder what it enlarges, the encoder's maps and the two
// joined.
double most_at_once(const NnUNetShape& shape, const std::vector<double>& shares,
                    double in_encoder) {
  double waiting = 0.0;
  double most = shares.front() * static_cast<double>(shape.stages.front().features + shape.classes);
  for (std::size_t index = 0; index < shape.stages.size(); ++index) {
    const double maps = shares[index] * static_cast<double>(shape.stages[index].features);
    const bool coarsest = index + 1 == shape.stages.size();
    most = std::max(most, waiting + (coarsest ? in_encoder : 4.0) * maps);
    waiting += maps;
  }
  return static_cast<double>(shape.in_channels) + most;
}

double kept_by_residual_stage(const NnUNetStage& stage, double share, std::int64_t in) {
  const auto features = static_cast<double>(stage.features);
  double kept = 2 * kept_maps * features * static_cast<double>(stage.blocks);
  const bool pools = std::ranges::any_of(stage.stride, [](std::int64_t step) { return step != 1; });
  if (in != stage.features) kept += features + (pools ? static_cast<double>(in) : 0.0);
  return share * kept;
}

// Of what both networks have alike: the input, the decoder, the gradients.
double in_training(const NnUNetShape& shape, const std::vector<double>& shares) {
  return static_cast<double>(shape.in_channels) + kept_by_decoder(shape, shares) +
         gradient_maps * static_cast<double>(shape.stages.front().features);
}

}  // namespace

Activations plain_conv_unet_activations(const NnUNetOptions& options) {
  const NnUNetShape shape = detail::shape_of(detail::plain_conv_unet_kind, options);
  const std::vector<double> shares = shares_of(shape);
  double training = in_training(shape, shares);
  for (std::size_t index = 0; index < shape.stages.size(); ++index)
    training += shares[index] * kept_maps *
                static_cast<double>(shape.stages[index].features * shape.stages[index].blocks);
  return {.training = training, .evaluation = most_at_once(shape, shares, 2.0)};
}

Activations residual_encoder_unet_activations(const NnUNetOptions& options) {
  const NnUNetShape shape = detail::shape_of(detail::residual_encoder_unet_kind, options);
  const std::vector<double> shares = shares_of(shape);
  std::int64_t in = shape.stages.front().features;
  double training = in_training(shape, shares) + kept_maps * static_cast<double>(in);  // the stem
  for (std::size_t index = 0; index < shape.stages.size(); ++index) {
    training += kept_by_residual_stage(shape.stages[index], shares[index], in);
    in = shape.stages[index].features;
  }
  return {.training = training, .evaluation = most_at_once(shape, shares, 3.0)};
}

}  // namespace headrace::inline v1::models
