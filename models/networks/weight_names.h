#pragma once

#include <string>
#include <string_view>

namespace headrace::inline v1::models {

/// What is special about the names of a network's tensors, for who loads weights of others into it.
struct WeightNames {
  std::string head = {};       ///< prefix of the classifier's tensors, such as `fc.`
  std::string auxiliary = {};  ///< prefix of heads that a network may do without, such as `side.`
  std::string first_convolution = {};  ///< its weight, `[out, in_channels, ...]`
  std::string encoder = {};            ///< prefix of an encoder that has weight files of its own
  std::string encoder_head = {};       ///< prefix of the classifier in such files
  /// The name here of a tensor of a file that calls some by several names; null: the same.
  std::string (*canonical)(std::string_view name) = nullptr;
};

}  // namespace headrace::inline v1::models
