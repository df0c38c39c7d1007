#include <headrace/models/networks/detail/resnet_memory.h>

#include <algorithm>

namespace headrace::inline v1::models::detail {

namespace {

// What a convolution gave is kept for the gradient of its norm; what norm and ReLU make of it, in
// one place, for the next convolution.
constexpr double kept_maps = 2.0;
constexpr double place = 2.0;  // of a maximum, 8 bytes

}  // namespace

EncoderMemory encoder_memory(const ResNetEncoderOptions& options) {
  const double stem = static_cast<double>(resnet_stem(options)) / 4;
  const double pooled = stem / 4;
  EncoderMemory memory{
      .kept = static_cast<double>(options.in_channels) + kept_maps * stem + (1 + place) * pooled,
      .widest = stem,
      .features = stem,
      .at_once = stem};
  double share = 1.0 / 16;  // pixels of a map for each pixel of the input
  std::int64_t in = resnet_stem(options);
  for (const ResNetLayer& layer : resnet_layers(options)) {
    const double before = share;
    share /= static_cast<double>(layer.stride * layer.stride);
    const double planes = share * static_cast<double>(layer.planes);
    const double out = share * static_cast<double>(layer.channels);
    const bool bottleneck = layer.channels != layer.planes;
    const double inner = bottleneck ? 2 * planes : planes;
    memory.kept += static_cast<double>(layer.blocks) * kept_maps * (inner + out);
    // The 1x1 convolution of the first block comes before the stride.
    if (bottleneck) memory.kept += kept_maps * (before - share) * static_cast<double>(layer.planes);
    if (layer.stride != 1 || in != layer.channels) memory.kept += out;  // of the shortcut
    memory.widest = std::max(memory.widest, out);
    memory.features += out;
    memory.at_once = std::max(memory.at_once, 3 * out);  // convolution, norm, shortcut
    in = layer.channels;
  }
  return memory;
}

Activations with_working_maps(double kept, double at_once, double widest) {
  return {.training = kept + 4 * widest, .evaluation = at_once + widest};
}

}  // namespace headrace::inline v1::models::detail
