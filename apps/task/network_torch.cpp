#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/models/networks/script_network.h>
#include <headrace/models/networks/try_forward.h>
#include <headrace/training/pretrained.h>

#include <algorithm>

namespace headrace::inline v1::app {
namespace {

models::NetworkOptions options_of(const ModelSettings& model, const NetworkShape& shape) {
  models::NetworkOptions options{.name = model.name,
                                 .in_channels = model.in_channels,
                                 .classes = shape.outputs,
                                 .width = model.width,
                                 .sides = {shape.side, shape.side}};
  if (!models::network_encoders(model.name).empty()) options.encoder = model.encoder;
  return options;
}

void require_side(const ModelSettings& model, const models::NetworkTraits& traits, int side) {
  const std::int64_t divisor = *std::ranges::max_element(traits.side_divisors);
  if (side >= traits.least_side && side % divisor == 0) return;
  const std::int64_t least = std::max(traits.least_side, divisor);
  const std::int64_t near = std::max(least, (side + divisor / 2) / divisor * divisor);
  throw ConfigError("[config] image.size must be a multiple of " + std::to_string(divisor) +
                    " and at least " + std::to_string(least) + " for the network " + model.name +
                    ", got " + std::to_string(side) + "; take " + std::to_string(near));
}

std::unique_ptr<models::Network> read_script(const ModelSettings& model,
                                             const NetworkShape& shape) {
  std::unique_ptr<models::Network> network = models::read_script_network(
      model.torchscript, {.main = model.main, .non_persistent = model.non_persistent});
  const models::Output output = models::try_forward(*network, {2, 3, shape.side, shape.side},
                                                    at::kCPU, model.torchscript.string());
  if (output.main.dim() >= 2 && output.main.size(1) == shape.outputs) return network;
  throw ConfigError(
      "[config] model.torchscript " + model.torchscript.string() +
      ": must have an output for each of " + std::to_string(shape.outputs) +
      " classes along its second axis, got " +
      (output.main.dim() < 2 ? std::string("one axis") : std::to_string(output.main.size(1))) +
      "; script it with num_classes=" + std::to_string(shape.outputs));
}

}  // namespace

void check_network(const ModelSettings& model, models::Task task) {
  if (!model.torchscript.empty()) return;
  if (model.in_channels != 3)
    throw ConfigError(
        "[config] model.in_channels must be 3, since pictures are red, green and "
        "blue, got " +
        std::to_string(model.in_channels));
  const std::vector<std::string> names = models::network_names(task);
  if (std::ranges::find(names, model.name) != names.end()) return;
  std::string known;
  for (const std::string& name : names)
    known += (known.empty() ? "" : ", ") + name;
  const auto meant = nearest_name(model.name, names);
  throw ConfigError("[config] model.name must be one of " + known + ", got \"" + model.name + '"' +
                    (meant ? "; did you mean \"" + *meant + "\"?" : std::string()));
}

models::NetworkTraits traits_of(const ModelSettings& model, const NetworkShape& shape) {
  if (!model.torchscript.empty()) return {};
  return models::network_traits(options_of(model, shape));
}

std::unique_ptr<models::Network> make_task_network(const ModelSettings& model,
                                                   const NetworkShape& shape, bool starts) {
  const models::NetworkTraits traits = traits_of(model, shape);
  if (model.torchscript.empty()) require_side(model, traits, shape.side);
  std::unique_ptr<models::Network> network = model.torchscript.empty()
                                                 ? models::make_network(options_of(model, shape))
                                                 : read_script(model, shape);
  if (!starts || model.weights.empty()) return network;
  const training::LoadedWeights loaded =
      training::load_pretrained(*network, model.weights, traits.weights);
  log_data(LogLevel::info, "[weights] " + model.weights.string() + ": " + summary(loaded));
  return network;
}

ChannelStatistics statistics_of_weights(const ModelSettings& model) {
  const models::ChannelStatistics known = traits_of(model, {.outputs = 2, .side = 256}).statistics;
  if (known.mean.empty()) return imagenet_statistics();
  return {.mean = {known.mean.begin(), known.mean.end()},
          .std = {known.stddev.begin(), known.stddev.end()}};
}

std::string network_name(const ModelSettings& model) {
  if (!model.torchscript.empty()) return model.torchscript.filename().string();
  if (models::network_encoders(model.name).empty()) return model.name;
  return model.name + " of " + model.encoder;
}

}  // namespace headrace::inline v1::app
