// A scripted network step by step beside the same network in eager PyTorch. Those of timm are tried
// where HEADRACE_TORCH_PYTHON has timm.
#include <headrace/models/networks/script_network.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/tests/support/torch_python.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/optimizer/autocast.h>

#include "../support/torch_doctest.h"
#include "one_thread.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <torch/csrc/jit/serialization/import.h>

using namespace headrace::test;
using headrace::training::OneThread;
using headrace::training::TensorMap;
namespace models = headrace::models;
namespace training = headrace::training;

namespace {

constexpr double rate = 0.02;

// Steps that script_steps.py has made.
struct EagerRun {
  EagerRun(std::filesystem::path folder_of_run, int number_of_steps)
      : folder(std::move(folder_of_run)),
        steps(number_of_steps),
        precision(folder.filename() == "bf16" ? training::Precision::bf16
                                              : training::Precision::fp32) {
    batches = read("batches");
    losses = read("losses").at("losses");
  }
  TensorMap read(const std::string& name) const {
    return training::read_safetensors(folder / (name + ".safetensors")).tensors;
  }
  TensorMap state(int step) const { return read("state-" + std::to_string(step)); }

  std::filesystem::path folder;
  int steps;
  training::Precision precision;
  TensorMap batches;
  at::Tensor losses;
};

// One step of gradient descent on `parameters`; gives the loss.
template <typename Forward>
double step(const EagerRun& run, int number, const models::NamedTensors& parameters,
            const Forward& forward) {
  at::Tensor loss;
  {
    const training::Autocast autocast(run.precision, at::kCPU);
    const std::string prefix = std::to_string(number) + ".";
    loss = at::cross_entropy_loss(forward(run.batches.at(prefix + "input")),
                                  run.batches.at(prefix + "target"));
  }
  for (const models::NamedTensor& parameter : parameters)
    parameter.tensor.mutable_grad() = at::Tensor();
  loss.backward();
  const at::NoGradGuard no_gradient;
  for (const models::NamedTensor& parameter : parameters)
    parameter.tensor.add_(parameter.tensor.grad(), -rate);
  return loss.item<double>();
}

double relative(const at::Tensor& ours, const at::Tensor& theirs) {
  const at::Tensor exact = theirs.to(at::kDouble);
  return ((ours.to(at::kDouble) - exact).abs() / exact.abs().clamp_min(1.0)).max().item<double>();
}

double largest_relative_difference(const TensorMap& ours, const TensorMap& theirs) {
  REQUIRE(ours.size() == theirs.size());
  double worst = 0.0;
  for (const auto& [name, tensor] : theirs)
    worst = std::max(worst, relative(ours.at(name), tensor));
  return worst;
}

struct Difference {
  double loss = 0.0;
  double weights = 0.0;
};

// Of all steps in a row, from the same beginning; leaves what was trained in the run's folder.
Difference difference_of_run(const EagerRun& run) {
  const OneThread one;
  const auto network = models::read_script_network(run.folder / "net.pt");
  at::manual_seed(4);
  Difference worst;
  for (int number = 0; number < run.steps; ++number) {
    const double loss = step(run, number, network->parameters(),
                             [&](const at::Tensor& input) { return network->forward(input); });
    worst.loss = std::max(worst.loss, std::abs(loss - run.losses[number].item<double>()));
  }
  const TensorMap trained = training::snapshot(*network);
  training::write_safetensors(run.folder / "trained.safetensors", {.tensors = trained});
  models::save_script(*network, run.folder / "trained.pt");
  worst.weights = largest_relative_difference(trained, run.state(run.steps));
  return worst;
}

// Of each step from the state that PyTorch had before it.
Difference difference_of_steps(const EagerRun& run) {
  const OneThread one;
  const auto network = models::read_script_network(run.folder / "net.pt");
  at::manual_seed(4);
  Difference worst;
  for (int number = 0; number < run.steps; ++number) {
    training::load_weights(*network, run.state(number));
    const double loss = step(run, number, network->parameters(),
                             [&](const at::Tensor& input) { return network->forward(input); });
    worst.loss = std::max(worst.loss, std::abs(loss - run.losses[number].item<double>()));
    worst.weights =
        std::max(worst.weights,
                 largest_relative_difference(training::snapshot(*network), run.state(number + 1)));
  }
  return worst;
}

// As `difference_of_run`, of the module run with what TorchScript does unasked.
Difference difference_of_optimised_run(const EagerRun& run) {
  const OneThread one;
  torch::jit::Module module = torch::jit::load((run.folder / "net.pt").string());
  models::NamedTensors parameters;
  for (const torch::jit::NameTensor& parameter : module.named_parameters())
    parameters.push_back({parameter.name, parameter.value});
  at::manual_seed(4);
  Difference worst;
  for (int number = 0; number < run.steps; ++number) {
    const double loss = step(run, number, parameters, [&](const at::Tensor& input) {
      return module.forward({input}).toTensor();
    });
    worst.loss = std::max(worst.loss, std::abs(loss - run.losses[number].item<double>()));
  }
  return worst;
}

void check_net(const std::string& net) {
  CAPTURE(net);
  const TemporaryFolder folder;
  const std::string script = "tests/training/script_steps.py";
  const std::string arguments = net + " " + folder.path().string();
  run_python(script, arguments + " float64 20 float32 20 bf16 5");
  const EagerRun exact_run(folder / "float64", 20);
  const Difference exact = difference_of_run(exact_run);
  CHECK(exact.loss <= 1e-8);
  CHECK(exact.weights <= 1e-8);
  CHECK_NOTHROW(run_python(script, arguments + " check"));
  const Difference single = difference_of_steps(EagerRun(folder / "float32", 20));
  CHECK(single.loss <= 1e-6);
  CHECK(single.weights <= 1e-6);
  const EagerRun mixed_run(folder / "bf16", 5);
  const Difference mixed = difference_of_run(mixed_run);
  CHECK(mixed.loss <= 1e-6);
  CHECK(mixed.weights <= 1e-6);
  MESSAGE(net << ", loss and weights: float64, 20 steps " << exact.loss << ", " << exact.weights
              << "; float32, each of 20 " << single.loss << ", " << single.weights
              << "; bf16, 5 steps " << mixed.loss << ", " << mixed.weights
              << "; with TorchScript's optimiser, loss "
              << difference_of_optimised_run(mixed_run).loss);
}

}  // namespace

TEST_CASE("a scripted network takes the steps of eager PyTorch, which takes its weights back") {
  if (python_with_torch().empty()) return skip(no_python);
  check_net("small");
}

TEST_CASE(
    "scripted networks of timm take the steps of eager PyTorch, which takes their weights back" *
    doctest::test_suite("long")) {
  if (!python_has("timm")) return skip("needs Python with torch and timm (HEADRACE_TORCH_PYTHON)");
  // The last has buffers that are not persistent.
  for (const char* net : {"resnet18", "edgenext_xx_small", "efficientvit_m0"})
    check_net(net);
}
