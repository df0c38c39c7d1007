#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// Shape of an MLP. With 64 features and 10 classes it has 303,114 parameters.
struct MlpOptions {
  std::int64_t features = 1;  ///< values of a vector
  std::int64_t classes = 2;
  double width = 1.0;    ///< factor of the 512 values of both hidden layers, see `scaled_channels`
  double dropout = 0.1;  ///< share of a hidden layer that a training step leaves out
};

/// A multilayer perceptron for vectors: twice a linear layer, batch norm, GELU and dropout, and a
/// linear head. Tensors: `fc1`, `bn1`, `fc2`, `bn2`, `head`, each with `.weight` and `.bias`, the
/// norms also with PyTorch's running statistics; they start as PyTorch's own layers do. Blocks:
/// `fc1` and `fc2`, each with its norm, GELU and dropout.
///
/// Input `[N, features]` float; output logits `[N, classes]`. Throws `ConfigError` for options that
/// make no network; `forward` throws `DataError` for another rank or number of features. In
/// training mode a batch needs two vectors.
HEADRACE_API std::unique_ptr<Network> make_mlp(const MlpOptions& options = {});

}  // namespace headrace::inline v1::models
