#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/models/networks/script_network.h>
#include <headrace/models/networks/try_forward.h>

#include <algorithm>
#include <sstream>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t tried_rows = 2;  // norms need more than one

void require_word(const char* key, const std::string& word, const std::vector<std::string>& known) {
  if (std::ranges::find(known, word) != known.end()) return;
  std::string listed;
  for (const std::string& name : known)
    listed += (listed.empty() ? "" : ", ") + name;
  throw ConfigError(std::string("[config] ") + key + " must be one of " + listed + ", got \"" +
                    word + '"' + did_you_mean(word, known));
}

// Empty where there is no choice. Of unet ours is the smallest.
std::string encoder_of(const ModelSettings& model) {
  const std::vector<std::string> encoders = models::network_encoders(model.name);
  if (encoders.empty()) return {};
  const std::string encoder =
      model.encoder.value_or(model.name == "unet" ? "resnet18" : encoders.front());
  require_word("model.encoder", encoder, encoders);
  return encoder;
}

models::NetworkOptions options_of(const ModelSettings& model, const NetworkShape& shape) {
  models::NetworkOptions options{.name = model.name,
                                 .in_channels = shape.channels,
                                 .classes = shape.outputs,
                                 .width = model.width,
                                 .head = {.hidden = model.hidden, .dropout = model.dropout}};
  if (!shape.sides.empty()) options.sides = shape.sides;
  options.spacing = shape.spacing;
  options.encoder = encoder_of(model);
  if (is_residual_unet3d(model)) {
    options.head = {};
    options.unet = {.base = model.base,
                    .blocks = model.blocks,
                    .dropout = model.dropout.empty() ? options.unet.dropout : model.dropout.front(),
                    .deep_supervision = model.deep_supervision};
  }
  if (has_mixtures(model))
    options.mixture = {.experts = model.experts,
                       .balance = model.balance,
                       .deep_supervision = model.deep_supervision,
                       .capacity = model.capacity};
  return options;
}

std::string text_of(c10::IntArrayRef sides) {
  std::string text;
  for (const std::int64_t side : sides)
    text += (text.empty() ? "" : " x ") + std::to_string(side);
  return text;
}

// Of the network that is planned for these sides.
std::vector<std::int64_t> divisors_of(const ModelSettings& model, NetworkShape shape,
                                      const std::vector<std::int64_t>& sides) {
  shape.sides = sides;
  return models::network_traits(options_of(model, shape)).side_divisors;
}

bool divides(const std::vector<std::int64_t>& divisors, const std::vector<std::int64_t>& sides) {
  for (std::size_t axis = 0; axis < sides.size(); ++axis)
    if (sides[axis] % divisors[divisors.size() == 1 ? 0 : axis] != 0) return false;
  return true;
}

// A network is planned for its patch: the nearest that its own plan takes, else what the plan pads
// this one to.
std::vector<std::int64_t> fitting_patch(const ModelSettings& model, const NetworkShape& shape,
                                        const std::vector<std::int64_t>& divisors) {
  std::vector<std::int64_t> nearest = shape.sides, padded = shape.sides;
  for (std::size_t axis = 0; axis < divisors.size(); ++axis) {
    const std::int64_t divisor = divisors[axis], side = shape.sides[axis];
    nearest[axis] = std::max(divisor, (side + divisor / 2) / divisor * divisor);
    padded[axis] = (side + divisor - 1) / divisor * divisor;
  }
  return divides(divisors_of(model, shape, nearest), nearest) ? nearest : padded;
}

void require_patch(const ModelSettings& model, const models::NetworkTraits& traits,
                   const NetworkShape& shape) {
  const auto [least, longest] = std::ranges::minmax(shape.sides);
  if (least < traits.least_side || longest < traits.least_longest_side)
    throw ConfigError("[config] volume.patch must be at least " +
                      std::to_string(traits.least_side) + " along every axis" +
                      (traits.least_longest_side > traits.least_side
                           ? ", and " + std::to_string(traits.least_longest_side) + " along one,"
                           : "") +
                      " for the network " + model.name + ", got " + text_of(shape.sides));
  if (divides(traits.side_divisors, shape.sides)) return;
  const auto listed = [](const std::vector<std::int64_t>& sides) {
    std::string text;
    for (const std::int64_t side : sides)
      text += (text.empty() ? "[" : ", ") + std::to_string(side);
    return text + ']';
  };
  throw ConfigError("[config] volume.patch must be multiples of " + listed(traits.side_divisors) +
                    " for the network " + model.name + ", got " + listed(shape.sides) + "; take " +
                    listed(fitting_patch(model, shape, traits.side_divisors)));
}

void require_sides(const ModelSettings& model, const models::NetworkTraits& traits,
                   const NetworkShape& shape) {
  if (shape.sides.size() == 3) return require_patch(model, traits, shape);
  const std::int64_t divisor = *std::ranges::max_element(traits.side_divisors);
  const std::int64_t least = std::max(traits.least_side, divisor);
  for (const std::int64_t side : shape.sides) {
    if (side >= least && side % divisor == 0) continue;
    const std::string rule = " must be a multiple of " + std::to_string(divisor) +
                             " and at least " + std::to_string(least) + " for the network " +
                             model.name + ", got ";
    if (shape.sides_of_data)
      throw ConfigError("[config] model.name: sides" + rule + text_of(shape.sides) +
                        " in the data; name another network");
    const std::int64_t near = std::max(least, (side + divisor / 2) / divisor * divisor);
    throw ConfigError("[config] image.size" + rule + std::to_string(side) + "; take " +
                      std::to_string(near));
  }
}

void require_channels(const ModelSettings& model, const NetworkShape& shape) {
  if (model.in_channels.value_or(shape.channels) == shape.channels) return;
  throw ConfigError("[config] model.in_channels must be " + std::to_string(shape.channels) +
                    (shape.vectors ? ", the length of the records' vectors, got "
                                   : ", the channels of the data, got ") +
                    std::to_string(*model.in_channels) + "; leave it out");
}

bool takes_vectors(const std::string& name) {
  const std::vector<std::string> known = models::network_names(models::Task::classification);
  return std::ranges::find(known, name) != known.end() &&
         models::network_traits({.name = name}).takes_vectors;
}

void require_volumes(const ModelSettings& model, const std::vector<std::string>& names) {
  const auto takes = [](const std::string& name) {
    return models::network_traits({.name = name}).takes_volumes;
  };
  if (takes(model.name)) return;
  std::string fitting;
  for (const std::string& name : names)
    if (takes(name)) fitting += (fitting.empty() ? "" : ", ") + name;
  throw ConfigError("[config] model.name: \"" + model.name +
                    "\" takes pictures, but the data are volumes; take one of " + fitting);
}

void require_pictures(const ModelSettings& model) {
  if (models::network_traits({.name = model.name}).takes_pictures) return;
  throw ConfigError("[config] model.name: \"" + model.name +
                    "\" takes volumes, but the data are pictures; take unet, or another of "
                    "docs/networks.md");
}

void require_kind(const ModelSettings& model, const std::vector<std::string>& names,
                  const NetworkShape& shape) {
  if (shape.sides.size() == 3) return require_volumes(model, names);
  if (shape.sides.size() == 2) require_pictures(model);
  if (takes_vectors(model.name) == shape.vectors) return;
  std::string fitting;
  for (const std::string& name : names)
    if (takes_vectors(name) == shape.vectors) fitting += (fitting.empty() ? "" : ", ") + name;
  throw ConfigError("[config] model.name: \"" + model.name + "\" takes " +
                    (shape.vectors ? "pictures and spectrograms, but the records are vectors"
                                   : "vectors, but the records are pictures or spectrograms") +
                    "; take one of " + fitting);
}

template <class Number>
std::string in_brackets(const char* what, const std::vector<Number>& numbers) {
  std::ostringstream text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text << (i == 0 ? std::string(", ") + what + " [" : ", ") << numbers[i];
  return numbers.empty() ? "" : text.str() + ']';
}

std::string who_of(const ModelSettings& model) {
  return "[config] model.torchscript " + model.torchscript.string();
}

void require_outputs(const ModelSettings& model, const NetworkShape& shape, c10::IntArrayRef got) {
  if (got.size() < 2 || got[1] != shape.outputs)
    throw ConfigError(who_of(model) + ": must have an output for each of " +
                      std::to_string(shape.outputs) + " classes along its second axis, got " +
                      (got.size() < 2 ? std::string("one axis") : std::to_string(got[1])) +
                      "; script it with num_classes=" + std::to_string(shape.outputs));
  const c10::IntArrayRef sides = got.slice(2);
  const c10::IntArrayRef wanted = shape.dense ? c10::IntArrayRef(shape.sides) : c10::IntArrayRef();
  if (sides == wanted) return;
  throw ConfigError(who_of(model) + ": must give " +
                    (shape.dense ? "masks of the pictures' sides, " + text_of(wanted)
                                 : std::string("one value for each picture and class")) +
                    ", got " + (sides.empty() ? "one value" : text_of(sides)));
}

}  // namespace

NetworkShape input_shape(std::int64_t outputs, int side, const Shape& record) {
  if (record.rank() == 0) return {.outputs = outputs, .sides = {side, side}};
  NetworkShape shape{.outputs = outputs,
                     .channels = channels_of(record),
                     .sides_of_data = true,
                     .vectors = record.rank() == 1};
  const auto extents = record.extents();
  shape.sides.assign(extents.begin() + (record.rank() == 2 ? 0 : 1), extents.end());
  return shape;
}

void check_network(const ModelSettings& model, const std::vector<std::string>& names,
                   const NetworkShape& shape) {
  if (!model.torchscript.empty()) return;
  require_word("model.name", model.name, names);
  require_channels(model, shape);
  require_kind(model, names, shape);
  if (shape.sides.empty()) return;
  NetworkShape seen = shape;
  seen.outputs = 1;  // it may not be known yet
  require_sides(model, traits_of(model, seen), seen);
}

models::NetworkTraits traits_of(const ModelSettings& model, const NetworkShape& shape) {
  if (!model.torchscript.empty()) return {};
  return models::network_traits(options_of(model, shape));
}

std::unique_ptr<models::Network> make_task_network(const ModelSettings& model,
                                                   const NetworkShape& shape, bool starts) {
  const models::NetworkTraits traits = traits_of(model, shape);
  std::unique_ptr<models::Network> network;
  if (model.torchscript.empty()) {
    require_sides(model, traits, shape);
    network = models::make_network(options_of(model, shape));
  } else {
    network = models::read_script_network(
        model.torchscript, {.main = model.main, .non_persistent = model.non_persistent});
  }
  if (starts) start_network(model, *network, traits.weights);
  return network;
}

void try_task_network(const ModelSettings& model, const NetworkShape& shape,
                      models::Network& network, c10::Device device) {
  if (model.torchscript.empty()) return;
  std::vector<std::int64_t> batch{tried_rows, shape.channels};
  batch.insert(batch.end(), shape.sides.begin(), shape.sides.end());
  const models::Output output = models::try_forward(network, batch, device, who_of(model));
  require_outputs(model, shape, output.main.sizes());
}

ChannelStatistics statistics_of_weights(const ModelSettings& model) {
  const models::PretrainingStatistics known = traits_of(model, {.outputs = 2}).statistics;
  if (known.mean.empty()) return imagenet_statistics();
  return {.mean = {known.mean.begin(), known.mean.end()},
          .std = {known.stddev.begin(), known.stddev.end()}};
}

std::map<std::string, std::string> network_notes(const ModelSettings& model) {
  if (!model.torchscript.empty())
    return {{"network", model.torchscript.filename().string()},
            {"torchscript", model.torchscript.string()}};
  std::string words = model.name;
  if (const std::string encoder = encoder_of(model); !encoder.empty()) words += " of " + encoder;
  if (model.width != 1.0) words += (std::ostringstream() << ", width " << model.width).str();
  if (has_mixtures(model) && model.experts) words += ", experts " + std::to_string(*model.experts);
  if (is_residual_unet3d(model))
    words += ", base " + std::to_string(model.base) + ", blocks " + std::to_string(model.blocks);
  if ((has_mixtures(model) || is_residual_unet3d(model)) && !model.deep_supervision)
    words += ", no deep supervision";
  words += in_brackets("hidden", model.hidden) + in_brackets("dropout", model.dropout);
  return {{"network", words}};
}

}  // namespace headrace::inline v1::app
