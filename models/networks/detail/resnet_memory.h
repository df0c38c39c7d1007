#pragma once

#include <headrace/models/networks/activations.h>
#include <headrace/models/networks/resnet_encoder.h>

namespace headrace::inline v1::models::detail {

/// Memory of an encoder's maps, in values for each pixel of the input.
struct EncoderMemory {
  double kept = 0.0;      ///< for the backward pass, the images included
  double widest = 0.0;    ///< of all maps
  double features = 0.0;  ///< the five maps that it gives
  double at_once = 0.0;   ///< beside those, while it works without gradients
};

/// Throws `ConfigError` as the encoder's constructor does.
EncoderMemory encoder_memory(const ResNetEncoderOptions& options);

/// With the gradients of the widest maps and the copies of them that oneDNN's convolutions work on.
Activations with_working_maps(double kept, double at_once, double widest);

}  // namespace headrace::inline v1::models::detail
