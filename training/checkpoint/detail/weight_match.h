#pragma once

#include <headrace/models/networks/network.h>
#include <headrace/models/networks/weight_names.h>
#include <headrace/training/checkpoint/named_state.h>

#include <string>
#include <vector>

namespace headrace::inline v1::training::detail {

/// A tensor of a file that goes into one of a network.
struct MatchedWeight {
  std::string name;
  at::Tensor from;
  at::Tensor into;
  bool adapted = false;  ///< made for other input channels first
};

/// How the tensors of a file and of a network go together; it fits where the last three are empty.
struct WeightMatch {
  std::vector<MatchedWeight> matched = {};
  std::vector<std::string> fresh = {};     ///< of the network, may stay as they are
  std::vector<std::string> left_out = {};  ///< of the file, not needed
  std::vector<std::string> missing = {};
  std::vector<std::string> unexpected = {};
  std::vector<std::string> misshapen = {};  ///< with both shapes
  std::string prefix = {};                  ///< of all names of the file, which was passed over

  bool fits() const { return missing.empty() && unexpected.empty() && misshapen.empty(); }
};

/// See `load_pretrained`.
WeightMatch match_weights(const models::NamedTensors& state, const TensorMap& weights,
                          const models::WeightNames& names);

}  // namespace headrace::inline v1::training::detail
