#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/named_place.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/models/networks/script_network.h>
#include <headrace/training/checkpoint/pretrained.h>
#include <headrace/training/errors.h>
#include <headrace/training/stage/stage.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_named = 8;

// Weights that a script's tensors are called by one name in, as the network calls them.
training::TensorMap read_for(const models::Network& network, const ModelSettings& model) {
  require_place("model.weights", model.weights, false);
  training::TensorMap weights = training::read_weights(model.weights);
  for (const models::ScriptAlias& alias : models::script_aliases(network)) {
    auto second = weights.extract(alias.name);
    if (second.empty() || weights.contains(alias.of)) continue;
    second.key() = alias.of;
    weights.insert(std::move(second));
  }
  return weights;
}

// The sentence of an error, without who says it.
std::string sentence_of(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

training::LoadedWeights load(const ModelSettings& model, models::Network& network,
                             const models::WeightNames& names) {
  try {
    return training::load_pretrained(network, read_for(network, model), names,
                                     "[weights] " + model.weights.string());
  } catch (const training::CheckpointError& error) {
    throw training::CheckpointError("[config] model.weights: " + sentence_of(error));
  }
}

// What a pattern may be: "layer1", "layer1.0", "layer1.0.conv1", "layer1.0.conv1.weight".
std::vector<std::string> parts_of(const models::NamedTensors& parameters) {
  std::set<std::string> parts;
  for (const models::NamedTensor& parameter : parameters)
    for (std::size_t end = 0; end != std::string::npos;) {
      end = parameter.name.find('.', end + 1);
      parts.insert(parameter.name.substr(0, end));
    }
  return {parts.begin(), parts.end()};
}

void require_used(const std::string& pattern, const models::NamedTensors& parameters) {
  const auto fits = [&](const models::NamedTensor& parameter) {
    return training::fits_pattern(parameter.name, pattern);
  };
  if (std::ranges::any_of(parameters, fits)) return;
  const auto meant = nearest_name(pattern, parts_of(parameters));
  throw ConfigError("[config] model.frozen \"" + pattern +
                    "\" must fit a parameter of the network, fits none; " +
                    (meant ? "did you mean \"" + *meant + "\"?"
                           : "the first is \"" + parameters.front().name + '"'));
}

// `fresh`: tensors that were not loaded.
void require_loaded(const ModelSettings& model, const std::string& pattern,
                    const std::vector<std::string>& fresh) {
  std::string listed;
  std::size_t count = 0;
  for (const std::string& name : fresh) {
    if (!training::fits_pattern(name, pattern)) continue;
    if (count++ < most_named) listed += (listed.empty() ? "" : ", ") + name;
  }
  if (count == 0) return;
  if (count > most_named) listed += " and " + std::to_string(count - most_named) + " more";
  throw ConfigError("[config] model.frozen \"" + pattern + "\": " + model.weights.string() +
                    " does not give " + listed +
                    ", which would keep random values for good; freeze others, or set "
                    "model.allow_random_frozen: true");
}

}  // namespace

void start_network(const ModelSettings& model, models::Network& network,
                   const models::WeightNames& names) {
  for (const std::string& pattern : model.frozen)
    require_used(pattern, network.parameters());
  if (model.weights.empty()) return;
  const training::LoadedWeights loaded = load(model, network, names);
  if (!model.allow_random_frozen)
    for (const std::string& pattern : model.frozen)
      require_loaded(model, pattern, loaded.fresh);
  log_data(LogLevel::info, "[weights] " + model.weights.string() + ": " + summary(loaded));
}

}  // namespace headrace::inline v1::app
