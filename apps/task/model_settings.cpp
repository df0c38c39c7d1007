#include <headrace/apps/task/model_settings.h>
#include <headrace/engine/base/error.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

namespace {

constexpr const char* lean = "camoxpert_lean";

void describe_mixtures(Fields& fields, ModelSettings& model) {
  const auto of_mixtures = [&model](KeyOptions options) {
    options.used_if = [&model] { return has_mixtures(model); };
    options.used_when = "model.name is camoxpert or camoxpert_lean";
    return options;
  };
  fields.key("experts", model.experts,
             of_mixtures({.doc = "of each mixture, of which a picture takes half, at least two; at "
                                 "most 4 of camoxpert_lean; null: 7, or 4 of camoxpert_lean",
                          .min = 2.0,
                          .max = 7.0}));
  fields.key("deep_supervision", model.deep_supervision,
             {.doc = "heads at coarser maps, for losses with on: deep",
              .used_if = [&model] { return has_mixtures(model) || is_residual_unet3d(model); },
              .used_when = "model.name is camoxpert, camoxpert_lean or residual_unet3d"});
  fields.key("balance", model.balance,
             of_mixtures({.doc = "factor of the loss that keeps experts evenly used; 0: none",
                          .min = 0.0,
                          .max = 1e3}));
  fields.key("capacity", model.capacity,
             of_mixtures({.doc = "in training an expert takes at most so many times its even share "
                                 "of a batch, and the others go without it; 0: no limit",
                          .min = 0.0,
                          .max = 1e3}));
}

void describe_unet3d(Fields& fields, ModelSettings& model) {
  const auto of_unet3d = [&model](std::string doc, double most) {
    return KeyOptions{.doc = std::move(doc),
                      .min = 1.0,
                      .max = most,
                      .used_if = [&model] { return is_residual_unet3d(model); },
                      .used_when = "model.name is residual_unet3d"};
  };
  fields.key("base", model.base,
             of_unet3d("features at full size; further down 2, 2, 4, 4 and 8 times as many", 4096));
  fields.key("blocks", model.blocks, of_unet3d("residual blocks of every stage", 64));
}

}  // namespace

bool is_residual_unet3d(const ModelSettings& model) {
  return model.torchscript.empty() && model.name == "residual_unet3d";
}

bool has_mixtures(const ModelSettings& model) {
  return model.torchscript.empty() && (model.name == "camoxpert" || model.name == lean);
}

void describe(Fields& fields, ModelSettings& model) {
  const auto named = [&model] { return model.torchscript.empty(); };
  const auto of_a_name = [&](KeyOptions options) {
    options.used_if = named;
    options.used_when = "model.torchscript is empty";
    return options;
  };
  fields.key("name", model.name, of_a_name({.doc = "of the network: docs/networks.md"}));
  fields.key("torchscript", model.torchscript,
             {.doc = "file of a network that torch.jit.script made, instead of a name; a script is "
                     "code: trusted files only (docs/torchscript.md)"});
  const auto of_a_script = [&](std::string doc) {
    return KeyOptions{.doc = std::move(doc),
                      .used_if = [&model] { return !model.torchscript.empty(); },
                      .used_when = "model.torchscript names a file"};
  };
  fields.key("main", model.main,
             of_a_script("of a script's outputs by name, the one that predictions are made of"));
  fields.key("non_persistent", model.non_persistent,
             of_a_script("buffers of a script that are no part of its state, where the file does "
                         "not say"));
  fields.key("weights", model.weights,
             {.doc = "safetensors file with timm's names to start from; empty: random values"});
  fields.key(
      "in_channels", model.in_channels,
      of_a_name({.doc =
                     "of the network's input, which the records decide: 3 of pictures, of vectors "
                     "their length; null: as they have",
                 .min = 1.0,
                 .max = 1e6}));
  fields.key(
      "width", model.width,
      of_a_name({.doc = "factor of the number of features, for trials", .above = 0.0, .max = 8.0}));
  fields.key("hidden", model.hidden,
             of_a_name({.doc = "of a ResNet's head, the outputs of its linear layers before the "
                               "last: [512, 128]; each is followed by ReLU and batch norm",
                        .min = 1.0,
                        .max = 1e6}));
  fields.key(
      "dropout", model.dropout,
      of_a_name({.doc = "of a ResNet's head, before each linear layer: one value for each, "
                        "such as [0.4, 0.2, 0.2] with two hidden layers, one for all, or none; of "
                        "residual_unet3d in every block, one value, or none for [0.15]",
                 .min = 0.0,
                 .below = 1.0}));
  fields.key("encoder", model.encoder,
             {.doc = "of unet: resnet18, resnet34 or resnet50; of the others edgenext_xx_small, "
                     "edgenext_x_small, edgenext_small or edgenext_base; null: resnet18 of unet, "
                     "edgenext_base of camoxpert, edgenext_xx_small of camoxpert_lean",
              .used_if =
                  [&model] {
                    return has_mixtures(model) ||
                           (model.torchscript.empty() && model.name == "unet");
                  },
              .used_when = "model.name is unet, camoxpert or camoxpert_lean"});
  describe_mixtures(fields, model);
  describe_unet3d(fields, model);
  fields.key("frozen", model.frozen,
             {.doc = "parameters that are not trained, by parts of their names (* for anything)"});
  fields.key("allow_random_frozen", model.allow_random_frozen,
             {.doc = "lets frozen parameters keep random values"});
}

void check(const ModelSettings& model) {
  const std::size_t layers = model.hidden.size() + 1;
  if (is_residual_unet3d(model) && !model.hidden.empty())
    throw ConfigError("[config] model.hidden is of a ResNet's head, which residual_unet3d has not");
  if (model.dropout.size() > 1 && model.dropout.size() != layers)
    throw ConfigError(fmt::format(
        "[config] model.dropout must have a value for each of the head's {} linear layers "
        "(model.hidden and the last), one for all, or none; got {}",
        layers, model.dropout.size()));
  if (model.name.empty() && model.torchscript.empty())
    throw ConfigError(
        "[config] model.name must name a network (docs/networks.md), or model.torchscript a file "
        "with one; got neither");
  if (model.name == lean && model.experts.value_or(2) > 4)
    throw ConfigError(fmt::format(
        "[config] model.experts must be 2 to 4 of camoxpert_lean, which has four kinds, got {}",
        *model.experts));
  if (!model.frozen.empty() && model.weights.empty() && model.torchscript.empty() &&
      !model.allow_random_frozen)
    throw ConfigError(
        "[config] model.frozen: parameters with random values would never be trained; give "
        "model.weights, or set model.allow_random_frozen: true");
}

}  // namespace headrace::inline v1::app
