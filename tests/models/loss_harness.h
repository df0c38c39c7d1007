#pragma once

#include <headrace/tests/models/loss_inputs.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

// What every loss must do, and every loss that there is: a new one is registered in
// registered_losses.cpp.
namespace headrace::test {

/// A loss with logits and targets in its domain.
struct LossCase {
  Loss loss = {};          ///< gives a scalar
  at::Tensor logits = {};  ///< float64
  at::Tensor target = {};
  at::Tensor toward = {};      ///< of the logits' shape: moves predictions towards the target
  at::Tensor weightless = {};  ///< of the logits' shape: ignored pixels and rows without weight
};

struct RegisteredLoss {
  std::string function;  ///< of a header in models/losses
  std::string options;
  /// A case with about `times` as many terms in each of its sums as the smallest.
  std::function<LossCase(std::int64_t times)> make;
  bool saturates = false;  ///< by the probabilities in it: large wrong logits have no gradient left
  /// An opposite mask costs nothing: no gradient leads away from it.
  bool of_edges = false;
  /// Follows the least and the greatest of windows: it has a derivative only where no two logits
  /// are the same, and off the skeletons none.
  bool of_skeletons = false;
  std::string defect = {};  ///< why it may fail, where that is known
};

const std::vector<RegisteredLoss>& registered_losses();

/// What is wrong with a loss, a sentence each:
/// - its gradient is not that of finite differences (central, float64, relative 1e-6);
/// - it does not fall when predictions move towards the target, all or those of one row;
/// - what weighs nothing has a gradient or changes the value, whatever logits are there;
/// - of half precision it is not computed in float: logits of +-6e4 and sums above 65504;
/// - it clamps logits: scores that are wrong by far lack their gradient.
std::vector<std::string> faults_of(const RegisteredLoss& registered);

}  // namespace headrace::test
