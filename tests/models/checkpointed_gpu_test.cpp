// Checkpointed blocks on a GPU, whose dropout draws from a generator of its own.
#include <headrace/models/networks/checkpointed.h>
#include <headrace/models/networks/leak_cnn.h>
#include <headrace/models/networks/resnet.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/torch_gpu.h>

#include "../support/torch_doctest.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

namespace nn = torch::nn;

const at::Device gpu(at::kCUDA, 0);

at::Tensor generator_state_of(at::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

// What a forward and a backward pass from the seed 5 leave.
struct GpuStep {
  at::Tensor output;
  Tensors gradients;
  Tensors buffers;
  at::Tensor generator;
};

template <typename Forward>
GpuStep step_on_gpu(const Forward& forward, const Tensors& parameters, const Tensors& buffers) {
  at::manual_seed(5);
  GpuStep step;
  step.output = forward();
  step.output.to(at::kFloat).square().sum().backward();
  step.generator = generator_state_of(gpu);
  for (const at::Tensor& parameter : parameters)
    step.gradients.push_back(parameter.grad());
  step.buffers = buffers;
  return step;
}

// Gradients may be summed in another order: as much apart as `tolerance` of their largest.
void check_same_on_gpu(const GpuStep& step, const GpuStep& plain, double tolerance) {
  CHECK(at::equal(step.output, plain.output));
  CHECK(at::equal(step.generator, plain.generator));
  REQUIRE(step.gradients.size() == plain.gradients.size());
  for (std::size_t i = 0; i < step.gradients.size(); ++i) {
    CAPTURE(i);
    const double largest = plain.gradients[i].abs().max().item<double>();
    const double off = (step.gradients[i] - plain.gradients[i]).abs().max().item<double>();
    CHECK(off <= tolerance * largest);
  }
  for (std::size_t i = 0; i < step.buffers.size(); ++i)
    CHECK(at::equal(step.buffers[i], plain.buffers[i]));
}

// A linear layer, a norm, and dropout, of the seed 3.
GpuStep step_of_part(bool checkpoints) {
  at::manual_seed(3);
  nn::Sequential module{nn::Linear(3, 4), nn::BatchNorm1d(4), nn::Dropout(.5)};
  module->to(gpu);
  const at::Tensor input = at::rand({64, 3}, at::kFloat).to(gpu);
  const Block block{.run = [module](Tensors x) mutable { return Tensors{module->forward(x[0])}; },
                    .modules = {module.ptr()}};
  const auto forward = [&] {
    return checkpoints ? checkpointed(block, {input}).front() : module->forward(input);
  };
  return step_on_gpu(forward, module->parameters(), module->buffers());
}

struct GpuCase {
  std::string name;
  std::function<std::unique_ptr<Network>()> make;
  std::vector<std::int64_t> sizes;
};

std::vector<GpuCase> networks() {
  return {{"leak_cnn", [] { return make_leak_cnn(); }, {32, 1, 64, 5}},
          {"resnet18",
           [] { return make_resnet({.depth = 18, .classes = 5, .width = .25}); },
           {4, 3, 64, 64}}};
}

Tensors tensors_of(const NamedTensors& items) {
  Tensors tensors;
  for (const NamedTensor& item : items)
    tensors.push_back(item.tensor);
  return tensors;
}

class GpuBfloat16 {
 public:
  explicit GpuBfloat16(bool on) : on_(on) { at::autocast::set_autocast_enabled(at::kCUDA, on_); }
  ~GpuBfloat16() {
    at::autocast::set_autocast_enabled(at::kCUDA, false);
    at::autocast::clear_cache();
  }
  GpuBfloat16(const GpuBfloat16&) = delete;
  GpuBfloat16& operator=(const GpuBfloat16&) = delete;

 private:
  bool on_;
};

GpuStep step_of_network(const GpuCase& one, bool lowered, bool checkpoints) {
  at::manual_seed(3);
  const auto network = one.make();
  network->move_to(gpu, true);
  network->set_training(true);
  if (checkpoints) network->checkpoint({"*"});
  at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  const at::Tensor input = at::rand(one.sizes).to(gpu).contiguous(at::MemoryFormat::ChannelsLast);
  const auto forward = [&] {
    const GpuBfloat16 scope(lowered);
    return network->forward(input);
  };
  return step_on_gpu(forward, tensors_of(network->parameters()), tensors_of(network->buffers()));
}

// cuDNN may sum gradients in an order that changes from run to run.
class SameOrder {
 public:
  SameOrder() { at::globalContext().setDeterministicCuDNN(true); }
  ~SameOrder() { at::globalContext().setDeterministicCuDNN(false); }
  SameOrder(const SameOrder&) = delete;
  SameOrder& operator=(const SameOrder&) = delete;
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a checkpointed block on a GPU is the plain one, with its dropout and statistics") {
    if (!open_torch_gpu()) return skip("needs a GPU");
    const GpuStep plain = step_of_part(false);
    CHECK((plain.output == 0).any().item<bool>());
    check_same_on_gpu(step_of_part(true), plain, 1e-6);
  }

  TEST_CASE("checkpointed networks on a GPU are the plain ones, in float and in bfloat16") {
    if (!open_torch_gpu()) return skip("needs a GPU");
    const SameOrder same_order;
    for (const GpuCase& one : networks())
      for (const bool lowered : {false, true}) {
        CAPTURE(one.name);
        CAPTURE(lowered);
        check_same_on_gpu(step_of_network(one, lowered, true), step_of_network(one, lowered, false),
                          1e-5);
      }
  }

  TEST_CASE("a checkpointed step waits for no GPU") {
    if (!open_torch_gpu()) return skip("needs a GPU");
    REQUIRE(sync_debug_mode() != nullptr);
    for (const GpuCase& one : networks()) {
      CAPTURE(one.name);
      const auto network = one.make();
      network->move_to(gpu, false);
      network->set_training(true);
      network->checkpoint({"*"});
      const at::Tensor input = at::rand(one.sizes).to(gpu);
      const auto step = [&] { network->forward(input).sum().backward(); };
      step();
      const WaitsThrow waits_throw;
      CHECK_NOTHROW(step());
    }
  }
}
