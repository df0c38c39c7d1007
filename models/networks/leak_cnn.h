#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// The fewest mels of its input.
inline constexpr std::int64_t leak_cnn_mels = 64;

/// Shape of the leak classifier. With two classes it has 617,987 parameters, with five 618,758.
struct LeakCnnOptions {
  std::int64_t classes = 2;
  bool dropout = true;  ///< off: a training step depends on weights and batch alone
};

/// LeakCNN: three 3x3 convolutions (32, 64, 128 features, ReLU), pooled by two along the mel axis
/// after the second and the third and then to 16 x 1, a linear layer of 256 features behind dropout
/// of .25, and two heads. The few frames of a segment are never pooled before the end. Blocks:
/// `conv1`, `conv2`, `conv3`, each with its ReLU and pooling.
///
/// Input `[N, 1, mels, frames]` float with at least `leak_cnn_mels` and one frame, in either memory
/// layout; output `[N, classes + 1]`: the logits of the classes and, last, the logit of the
/// auxiliary head "is a leak". Convolutions and linear layers start from Kaiming's normal
/// distribution (fan in), biases from zero, from the default CPU generator of LibTorch. `forward`
/// throws `DataError` for another rank, channel count or fewer mels.
HEADRACE_API std::unique_ptr<Network> make_leak_cnn(const LeakCnnOptions& options = {});

}  // namespace headrace::inline v1::models
