#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>

namespace headrace::inline v1::models {

/// What stands between a network's features and its outputs.
struct HeadOptions {
  std::vector<std::int64_t> hidden = {};  ///< outputs of the linear layers before the last
  /// Of what each linear layer gets, in training: a value for each of them, one for all, or none.
  std::vector<double> dropout = {};

  bool operator==(const HeadOptions&) const = default;
};

/// Features in, outputs out.
struct HeadShape {
  std::int64_t features;
  std::int64_t outputs;
};

/// A classifier's head, float `[N, features]` to `[N, outputs]`, as part of `owner`: dropout and a
/// linear layer called `name`; or, where there are hidden layers, a sequence called `name`, as
/// `torch.nn.Sequential` has it: dropout, linear, ReLU and batch norm for each (`fc.0` to `fc.3`),
/// then dropout and linear. With hidden layers a batch in training mode needs two rows. Layers
/// start as PyTorch's. Throws `ConfigError` for sizes below 1, and for dropout outside [0, 1) or of
/// another count of values.
HEADRACE_API torch::nn::Sequential add_head(torch::nn::Module& owner, const std::string& name,
                                            const HeadShape& shape, const HeadOptions& options);

}  // namespace headrace::inline v1::models
