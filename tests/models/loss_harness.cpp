#include <headrace/tests/models/loss_harness.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

namespace headrace::test {

namespace {

constexpr double step_size = 1e-4;

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

double value_of(const LossCase& one, const at::Tensor& logits) {
  return one.loss(logits, one.target).item<double>();
}

at::Tensor gradient_of(const LossCase& one, const at::Tensor& logits) {
  return gradient(one.loss, logits, one.target);
}

at::Tensor differences(const LossCase& one, const at::Tensor& logits) {
  at::Tensor found = at::zeros_like(logits);
  for (std::int64_t i = 0; i < logits.numel(); ++i) {
    at::Tensor step = at::zeros_like(logits);
    step.view(-1)[i] = step_size;
    found.view(-1)[i] =
        (value_of(one, logits + step) - value_of(one, logits - step)) / (2 * step_size);
  }
  return found;
}

double largest(const at::Tensor& values) {
  return values.abs().max().item<double>();
}

class Judge {
 public:
  explicit Judge(const RegisteredLoss& registered)
      : registered_(registered), one_(registered.make(1)) {}

  std::vector<std::string> faults() && {
    see_gradient("", one_.logits);
    see_direction();
    if (one_.weightless.defined()) see_weightless();
    see_far_logits();
    see_largest_half();
    see_large_sums();
    return std::move(faults_);
  }

 private:
  template <typename... Parts>
  void require(bool holds, const Parts&... parts) {
    if (!holds) faults_.push_back(text(parts...));
  }

  void see_gradient(const std::string& where, const at::Tensor& logits) {
    const at::Tensor given = gradient_of(one_, logits);
    const at::Tensor expected = differences(one_, logits);
    const double scale = std::max(largest(expected), largest(given));
    const double off = largest(given - expected);
    require(off <= 1e-6 * scale, "finite differences", where, ": off by ", off, " of ", scale);
    require(scale > 0.0, "finite differences", where, ": no gradient at all");
  }

  void see_direction() {
    const double before = value_of(one_, one_.logits);
    require(value_of(one_, one_.logits + .01 * one_.toward) < before,
            "direction: does not fall towards the target");
    for (std::int64_t row = 0; row < one_.logits.size(0); ++row) {
      at::Tensor step = at::zeros_like(one_.logits);
      step[row] = .01 * one_.toward[row];
      if (largest(step) == 0.0) continue;
      require(value_of(one_, one_.logits + step) < before, "direction: does not fall when row ",
              row, " moves towards its target");
    }
  }

  void see_weightless() {
    const double before = value_of(one_, one_.logits);
    for (const double factor : {1.0, 1e4, -1e4}) {
      const at::Tensor logits = at::where(one_.weightless, one_.logits * factor, one_.logits);
      const at::Tensor given = at::where(one_.weightless, gradient_of(one_, logits), 0.0);
      require(largest(given) == 0.0, "weightless: has a gradient of ", largest(given));
      require(value_of(one_, logits) == before, "weightless: changes the value");
    }
  }

  // All predictions wrong by as much, or nearly.
  at::Tensor wrong_by(double distance) const {
    at::Tensor wrong = -distance / 2 * one_.toward.sign();
    if (registered_.of_skeletons) wrong += .1 * one_.logits;
    return at::where(one_.toward == 0, one_.logits, wrong);
  }

  void see_far_logits() {
    const bool partial = registered_.of_edges || registered_.of_skeletons;
    const bool saturates = registered_.saturates || partial;
    const double distance = saturates ? 6.0 : 1000.0;
    const at::Tensor logits = wrong_by(distance);
    see_gradient(text(" of logits ", distance, " apart"), logits);
    if (partial) return;
    const at::Tensor given = gradient_of(one_, logits);
    // Of a softmax in fractions a wrong class may gain from another that is more wrong.
    const at::Tensor seen = registered_.saturates ? one_.toward > 0 : one_.toward != 0;
    const at::Tensor lost = (given * one_.toward >= 0) & seen;
    require(!lost.any().item<bool>(), "far logits: ", lost.sum().item<std::int64_t>(), " of ",
            seen.sum().item<std::int64_t>(), " have no gradient that leads to the target");
  }

  void see_largest_half() {
    const at::Tensor wrong = wrong_by(1.2e5);
    for (const at::Tensor& logits : {wrong, -wrong}) {
      const at::Tensor half = logits.clamp(-6e4, 6e4).to(at::kHalf);
      const at::Tensor value = one_.loss(half, one_.target);
      require(value.scalar_type() == at::kFloat, "half precision: the loss is ",
              c10::toString(value.scalar_type()), ", not float");
      require(std::isfinite(value.item<double>()), "half precision: of +-6e4 the loss is ",
              value.item<double>());
      require(at::isfinite(gradient_of(one_, half)).all().item<bool>(),
              "half precision: of +-6e4 the gradient is not finite");
    }
  }

  void see_large_sums() {
    const LossCase large = registered_.make(12'000);
    const at::Tensor half = large.logits.to(at::kHalf);
    const double given = large.loss(half, large.target).item<double>();
    const double expected = value_of(large, half.to(at::kDouble));
    require(std::abs(given - expected) <= 1e-4 * std::abs(expected), "half precision: of ",
            large.logits.numel(), " logits the loss is ", given, ", in double ", expected);
  }

  const RegisteredLoss& registered_;
  LossCase one_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> faults_of(const RegisteredLoss& registered) {
  return Judge(registered).faults();
}

}  // namespace headrace::test
