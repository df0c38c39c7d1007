#pragma once

namespace headrace::inline v1::models {

/// What a pass through a network takes beside its parameters: values for each pixel or voxel of the
/// input (all channels together). Times pixels, batch and the width of a value (4 bytes) that is
/// the memory, but for scratch of the convolutions.
struct Activations {
  double training = 0.0;    ///< kept for the backward pass, and the widest gradients beside it
  double evaluation = 0.0;  ///< at most at once without gradients
};

}  // namespace headrace::inline v1::models
