#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/pretrained.h>

namespace headrace::inline v1::app {
namespace {

models::NetworkOptions options_of(const ModelSettings& model, std::int64_t outputs) {
  models::NetworkOptions options{.name = model.name,
                                 .in_channels = model.in_channels,
                                 .classes = outputs,
                                 .width = model.width};
  if (!models::network_encoders(model.name).empty()) options.encoder = model.encoder;
  return options;
}

}  // namespace

models::NetworkTraits traits_of(const ModelSettings& model, std::int64_t outputs) {
  return models::network_traits(options_of(model, outputs));
}

std::unique_ptr<models::Network> make_task_network(const ModelSettings& model, std::int64_t outputs,
                                                   bool starts) {
  const models::NetworkOptions options = options_of(model, outputs);
  std::unique_ptr<models::Network> network = models::make_network(options);
  if (!starts || model.weights.empty()) return network;
  const training::LoadedWeights loaded =
      training::load_pretrained(*network, model.weights, models::network_traits(options).weights);
  log_data(LogLevel::info, "[weights] " + model.weights.string() + ": " + summary(loaded));
  return network;
}

ChannelStatistics statistics_of_weights(const ModelSettings& model) {
  const models::ChannelStatistics known = traits_of(model, 2).statistics;
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
