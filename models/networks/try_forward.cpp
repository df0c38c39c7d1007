#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/script_file.h>
#include <headrace/models/networks/try_forward.h>

#include <mutex>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

namespace headrace::inline v1::models {

namespace {

std::optional<at::Generator> generator_of(at::Device device) {
  if (device.is_cpu() || device.is_cuda()) return at::globalContext().defaultGenerator(device);
  return std::nullopt;
}

// Buffers, mode and random generator of a network, put back at the end of the scope.
class Untouched {
 public:
  Untouched(Network& network, at::Device device)
      : network_(network), training_(network.is_training()), generator_(generator_of(device)) {
    for (NamedTensor& buffer : network.buffers())
      buffers_.emplace_back(buffer.tensor, buffer.tensor.detach().clone());
    if (!generator_) return;
    const std::lock_guard lock(generator_->mutex());
    generator_state_ = generator_->get_state();
  }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;
  ~Untouched() {
    const at::NoGradGuard no_gradient;
    for (auto& [buffer, before] : buffers_)
      buffer.copy_(before);
    network_.set_training(training_);
    if (!generator_) return;
    const std::lock_guard lock(generator_->mutex());
    generator_->set_state(generator_state_);
  }

 private:
  Network& network_;
  bool training_;
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;
  std::optional<at::Generator> generator_;
  at::Tensor generator_state_;
};

at::ScalarType type_of(const Network& network) {
  const NamedTensors parameters = network.parameters();
  return parameters.empty() ? at::kFloat : parameters.front().tensor.scalar_type();
}

}  // namespace

Output try_forward(Network& network, c10::IntArrayRef shape, c10::Device device,
                   const std::string& who) {
  const auto refusal = [&](const std::string& reason) {
    std::ostringstream message;
    message << who << ": a forward pass of " << c10::toString(type_of(network)) << ' ' << shape
            << " on " << device << (network.is_training() ? " in training" : " in evaluation")
            << " mode " << reason;
    return ConfigError(message.str());
  };
  const Untouched untouched(network, device);
  try {
    const at::Tensor input =
        at::zeros(shape, at::TensorOptions().dtype(type_of(network)).device(device));
    network.set_training(true);
    const at::Tensor trained = network.outputs(input).main;
    if (!network.parameters().empty() && !(trained.defined() && trained.requires_grad()))
      throw refusal("must give an output with a gradient; remove detach() and no_grad() from it");
    network.set_training(false);
    const at::NoGradGuard no_gradient;
    return network.outputs(input);
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw refusal("fails: " + detail::short_message(error) +
                  "; make the shape of the data and that of the network the same");
  }
}

}  // namespace headrace::inline v1::models
