#include <headrace/tests/apps/pytorch_run.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/training/checkpoint/safetensors.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include <ATen/Functions.h>

namespace headrace::test {

using training::Example;
using training::TensorMap;

namespace {

constexpr double noise = 1e-4;  // of the root mean square of all gradients

TensorMap part_of(const TensorMap& all, const std::string& prefix) {
  TensorMap part;
  for (const auto& [name, tensor] : all)
    if (name.starts_with(prefix)) part.emplace(name.substr(prefix.size()), tensor);
  return part;
}

// In the layout that the jobs use.
Example example_of(const TensorMap& batches, const std::string& prefix) {
  Example example{
      .inputs = {{"input",
                  batches.at(prefix + "input").contiguous(at::MemoryFormat::ChannelsLast)}},
      .targets = {{"target", batches.at(prefix + "target")}}};
  const auto present = batches.find(prefix + "present");
  if (present != batches.end()) example.present = present->second;
  return example;
}

std::unique_ptr<models::Network> network_of(const JobRecipe& recipe, at::ScalarType type) {
  std::unique_ptr<models::Network> network = recipe.make_network();
  for (const models::NamedTensor& item : models::state_of(*network))
    if (item.tensor.is_floating_point()) item.tensor.set_data(item.tensor.detach().to(type));
  network->move_to(at::kCPU, /*channels_last=*/true);
  return network;
}

double largest(const TensorMap& tensors, const std::string& suffix) {
  double value = 0.0;
  for (const auto& [name, tensor] : tensors)
    if (name.ends_with(suffix)) value = std::max(value, tensor.abs().max().item<double>());
  return value;
}

// Root of AdamW's estimate of the mean square gradient, by parameter.
TensorMap gradient_sizes(const TensorMap& state) {
  const std::string suffix = ".exp_avg_sq";
  TensorMap sizes;
  for (const auto& [name, tensor] : part_of(state, "optimizer/")) {
    if (!name.ends_with(suffix)) continue;
    const std::string parameter = name.substr(0, name.size() - suffix.size());
    const double count = state.at("optimizer/" + parameter + ".step").item<double>();
    sizes.emplace("network/" + parameter,
                  (tensor.to(at::kDouble) / (1.0 - std::pow(0.999, count))).sqrt());
  }
  return sizes;
}

double root_mean_square(const TensorMap& tensors) {
  double squares = 0.0;
  double count = 0.0;
  for (const auto& [name, tensor] : tensors) {
    squares += tensor.square().sum().item<double>();
    count += static_cast<double>(tensor.numel());
  }
  return std::sqrt(squares / count);
}

}  // namespace

PytorchRun::PytorchRun(const std::string& python, const std::string& job, const std::string& mode) {
  const std::string command = python + " " + headrace::test::source_folder() +
                              "/tests/apps/pytorch_steps.py " + job + " " + mode + " " +
                              folder_.path().string();
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  losses_ = training::read_safetensors(folder_ / "losses.safetensors").tensors;
  const TensorMap batches = training::read_safetensors(folder_ / "batches.safetensors").tensors;
  parts_.resize(steps);
  for (std::int64_t step = 0; step < steps; ++step)
    for (int part = 0;; ++part) {
      const std::string prefix = std::to_string(step) + "." + std::to_string(part) + ".";
      if (!batches.contains(prefix + "input")) break;
      parts_[static_cast<std::size_t>(step)].push_back(example_of(batches, prefix));
    }
  const auto counts = batches.find("class_counts");
  if (counts == batches.end()) return;
  const std::int64_t* first = counts->second.const_data_ptr<std::int64_t>();
  class_counts_.assign(first, first + counts->second.numel());
}

double PytorchRun::loss(const std::string& type, std::int64_t step) const {
  return values(type)[step].item<double>();
}

TensorMap PytorchRun::state(std::int64_t step) const {
  return training::read_safetensors(folder_ / ("state-" + std::to_string(step) + ".safetensors"))
      .tensors;
}

Steps::Steps(const JobRecipe& recipe, const PytorchRun& run, at::ScalarType type)
    : recipe_(recipe),
      run_(run),
      type_(type),
      network_(network_of(recipe, type)),
      optimizer_(training::parameter_groups(recipe.stage, network_->parameters()),
                 recipe.stage.optimizer),
      update_(*recipe.course, *network_, optimizer_,
              {.clip_norm = recipe.stage.clip_norm, .precision = recipe.stage.precision}) {
  restore(run.state(0));
}

void Steps::restore(const TensorMap& state) {
  training::load_weights(*network_, part_of(state, "network/"));
  optimizer_.load_state(part_of(state, "optimizer/"));
}

TensorMap Steps::state() const {
  TensorMap state;
  for (const auto& [name, tensor] : training::snapshot(*network_))
    state.emplace("network/" + name, tensor);
  for (const auto& [name, tensor] : training::snapshot(optimizer_.state()))
    state.emplace("optimizer/" + name, tensor);
  return state;
}

double Steps::step(std::int64_t number) {
  network_->set_training(true);
  const Parts& parts = run_.parts(number);
  optimizer_.set_learning_rate(training::rate_at(recipe_.stage.schedule,
                                                 recipe_.stage.optimizer.learning_rate,
                                                 {.update = number,
                                                  .steps_per_epoch = recipe_.steps_per_epoch,
                                                  .epochs = recipe_.stage.epochs}));
  Random random;
  const training::Moment moment{
      .step = number, .stage = recipe_.stage, .training = true, .random = random};
  double sum = 0.0;
  double weights = 0.0;
  for (const Example& part : parts) {
    Example typed = part;
    for (auto& [name, input] : typed.inputs)
      input = input.to(type_);
    const training::Forward forward = update_.accumulate(typed, moment, parts.size() == 1);
    const double weight = forward.weight.defined() ? forward.weight.item<double>()
                                                   : static_cast<double>(forward.rows);
    sum += forward.loss.item<double>() * weight;
    weights += weight;
  }
  update_.finish();
  return sum / weights;
}

double difference(double ours, double theirs) {
  return std::abs(ours - theirs) / std::max(1.0, std::abs(theirs));
}

double difference(const at::Tensor& ours, const at::Tensor& theirs) {
  if (ours.numel() == 0) return 0.0;
  const at::Tensor exact = theirs.to(at::kDouble);
  return ((ours.to(at::kDouble) - exact).abs() / exact.abs().clamp_min(1.0)).max().item<double>();
}

StepDifference difference_of_step(Steps& steps, const PytorchRun& run, std::int64_t number) {
  steps.restore(run.state(number));
  StepDifference result{.loss = difference(steps.step(number), run.loss("float32", number))};
  const TensorMap ours = steps.state();
  const TensorMap theirs = run.state(number + 1);
  const TensorMap my_sizes = gradient_sizes(ours);
  const TensorMap sizes = gradient_sizes(theirs);
  const double floor = noise * root_mean_square(sizes);
  double left_out = 0.0;
  double all = 0.0;
  for (const auto& [name, tensor] : part_of(theirs, "network/")) {
    const at::Tensor& mine = ours.at("network/" + name);
    const auto size = sizes.find("network/" + name);
    if (size == sizes.end()) {
      result.buffers = std::max(result.buffers, difference(mine, tensor));
      continue;
    }
    const at::Tensor larger = at::maximum(size->second, my_sizes.at("network/" + name));
    const at::Tensor kept = (larger == 0.0).logical_or(larger >= floor);
    result.weights = std::max(result.weights, difference(mine.index({kept}), tensor.index({kept})));
    left_out += static_cast<double>(tensor.numel()) - kept.sum().item<double>();
    all += static_cast<double>(tensor.numel());
  }
  result.left_out = left_out / all;
  for (const char* kind : {".exp_avg", ".exp_avg_sq", ".step"})
    for (const auto& [name, tensor] : theirs)
      if (name.ends_with(kind))
        result.moments =
            std::max(result.moments,
                     (ours.at(name) - tensor).abs().max().item<double>() / largest(theirs, kind));
  return result;
}

}  // namespace headrace::test
