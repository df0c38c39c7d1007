#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/models/networks/camoxpert.h>
#include <headrace/models/networks/detail/refuse.h>
#include <headrace/models/networks/edgenext.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>
#include <headrace/models/networks/mlp.h>
#include <headrace/models/networks/named_network.h>
#include <headrace/models/networks/nnunet_networks.h>
#include <headrace/models/networks/nnunet_planner.h>
#include <headrace/models/networks/residual_unet3d.h>
#include <headrace/models/networks/resnet.h>
#include <headrace/models/networks/unet.h>
#include <headrace/models/networks/width.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace headrace::inline v1::models {

namespace {

const PretrainingStatistics imagenet{.mean = {.485, .456, .406}, .stddev = {.229, .224, .225}};

template <int depth, ResNetVariant variant = {}>
std::unique_ptr<Network> resnet(const NetworkOptions& options) {
  return make_resnet({.depth = depth,
                      .in_channels = options.in_channels,
                      .classes = options.classes,
                      .width = options.width,
                      .variant = variant,
                      .head = options.head});
}

NetworkTraits resnet_traits(const NetworkOptions& /*options*/) {
  return {.weights = {.head = "fc.", .first_convolution = "conv1.weight"}, .statistics = imagenet};
}

NetworkTraits legacy_resnet_traits(const NetworkOptions& /*options*/) {
  return {.weights = {.head = "last_linear.", .first_convolution = "layer0.conv1.weight"},
          .least_side = 3,  // below, nothing is left to pool
          .statistics = imagenet};
}

template <EdgeNeXtSize size>
std::unique_ptr<Network> edgenext(const NetworkOptions& options) {
  return make_edgenext(
      {.encoder = {.size = size, .in_channels = options.in_channels, .width = options.width},
       .classes = options.classes});
}

NetworkTraits edgenext_traits(const NetworkOptions& /*options*/) {
  return {.weights = {.head = "head.fc.", .first_convolution = "stem.0.weight"},
          .least_side = 32,
          .side_divisors = {32},
          .statistics = imagenet};
}

struct Encoder {
  std::string_view name;
  int depth;
};

constexpr std::array<Encoder, 3> unet_encoders{
    {{"resnet34", 34}, {"resnet18", 18}, {"resnet50", 50}}};

std::unique_ptr<Network> unet(const NetworkOptions& options) {
  const auto* encoder = std::ranges::find(unet_encoders, options.encoder, &Encoder::name);
  if (encoder == unet_encoders.end()) encoder = unet_encoders.begin();
  return make_unet({.encoder = encoder->depth,
                    .in_channels = options.in_channels,
                    .classes = options.classes,
                    .width = options.width});
}

NetworkTraits unet_traits(const NetworkOptions& /*options*/) {
  return {.weights = {.head = "segmentation_head.",
                      .first_convolution = "encoder.conv1.weight",
                      .encoder = "encoder.",
                      .encoder_head = "fc."},
          .least_side = 32,
          .side_divisors = {32},
          .statistics = imagenet};
}

std::vector<std::string> names_of_unet_encoders() {
  std::vector<std::string> names;
  for (const Encoder& encoder : unet_encoders)
    names.emplace_back(encoder.name);
  return names;
}

void refuse_width(const NetworkOptions& options) {
  if (options.width != 1.0)
    throw ConfigError("[network] \"" + options.name + "\" has no width factor, got " +
                      std::to_string(options.width));
}

std::unique_ptr<Network> efficient_glaucoma_cnn(const NetworkOptions& options) {
  refuse_width(options);
  return make_efficient_glaucoma_cnn({.channels = options.in_channels, .classes = options.classes});
}

NetworkTraits efficient_glaucoma_cnn_traits(const NetworkOptions& options) {
  refuse_width(options);
  return {.weights = {.head = "head.linear2.", .first_convolution = "stem.conv.weight"},
          .least_side = 16};
}

std::unique_ptr<Network> mlp(const NetworkOptions& options) {
  return make_mlp(
      {.features = options.in_channels, .classes = options.classes, .width = options.width});
}

NetworkTraits mlp_traits(const NetworkOptions& /*options*/) {
  return {.weights = {.head = "head."}, .takes_vectors = true};
}

// nnU-Net's plan for these sides; the width is a factor of its 32 features.
NnUNetOptions nnunet_options(const NetworkOptions& options) {
  return plan_nnunet({.patch_size = options.sides,
                      .spacing = options.spacing,
                      .in_channels = options.in_channels,
                      .classes = options.classes,
                      .base_features = scaled_channels(32, options.width)})
      .options;
}

NetworkTraits nnunet_traits(const NetworkOptions& options, const char* first_convolution) {
  const std::vector<std::int64_t> divisors = nnunet_side_divisors(nnunet_options(options));
  // A norm needs two values, which a plan leaves along one axis at least.
  const bool volumes = options.sides.size() == 3;
  return {.weights = {.head = "decoder.seg_layers.",
                      .first_convolution = first_convolution,
                      .canonical = canonical_nnunet_name},
          .takes_volumes = true,
          .least_side = volumes ? 1 : 2 * *std::ranges::max_element(divisors),
          .side_divisors = divisors};
}

std::unique_ptr<Network> plain_conv_unet(const NetworkOptions& options) {
  return make_plain_conv_unet(nnunet_options(options));
}

NetworkTraits plain_conv_unet_traits(const NetworkOptions& options) {
  return nnunet_traits(options, "encoder.stages.0.0.convs.0.conv.weight");
}

std::unique_ptr<Network> residual_encoder_unet(const NetworkOptions& options) {
  return make_residual_encoder_unet(nnunet_options(options));
}

NetworkTraits residual_encoder_unet_traits(const NetworkOptions& options) {
  return nnunet_traits(options, "encoder.stem.convs.0.conv.weight");
}

std::unique_ptr<Network> residual_unet3d(const NetworkOptions& options) {
  Unet3dOptions unet = options.unet;
  if (options.width != 1.0) unet.base = scaled_channels(unet.base, options.width);
  return make_residual_unet3d(
      {.in_channels = options.in_channels, .classes = options.classes, .unet = unet});
}

NetworkTraits residual_unet3d_traits(const NetworkOptions& /*options*/) {
  return {.weights = {.head = "head.",
                      .auxiliary = "aux_heads.",
                      .first_convolution = "encoder_blocks.0.0.conv1.weight"},
          .takes_volumes = true,
          .takes_pictures = false,
          .least_side = 16,
          .least_longest_side = 32};
}

template <std::unique_ptr<Network> (*make)(const CamoXpertOptions&)>
std::unique_ptr<Network> camoxpert(const NetworkOptions& options) {
  const std::string encoder =
      options.encoder.empty() ? network_encoders(options.name).front() : options.encoder;
  return make({.encoder = edgenext_size_of(encoder),
               .in_channels = options.in_channels,
               .classes = options.classes,
               .width = options.width,
               .mixture = options.mixture});
}

NetworkTraits camoxpert_traits(const NetworkOptions& /*options*/) {
  return {.weights = {.head = "head.",
                      .auxiliary = "side.",
                      .first_convolution = "backbone.stem.0.weight",
                      .encoder = "backbone.",
                      .encoder_head = "head."},
          .least_side = 32,
          .side_divisors = {32},
          .statistics = imagenet};
}

std::vector<std::string> largest_first() {
  std::vector<std::string> names = edgenext_names();
  std::ranges::reverse(names);
  return names;
}

struct Row {
  std::string_view name;
  Task task;
  std::unique_ptr<Network> (*make)(const NetworkOptions&);
  NetworkTraits (*traits)(const NetworkOptions&);
  std::vector<std::string> (*encoders)() = nullptr;
  bool takes_head = false;
  bool takes_mixture = false;
  bool takes_unet = false;
};

constexpr std::array rows{
    Row{"resnet18", Task::classification, resnet<18>, resnet_traits, nullptr, true},
    Row{"resnet34", Task::classification, resnet<34>, resnet_traits, nullptr, true},
    Row{"resnet50", Task::classification, resnet<50>, resnet_traits, nullptr, true},
    Row{"seresnext50_32x4d", Task::classification, resnet<50, se_resnext>, resnet_traits, nullptr,
        true},
    Row{"legacy_seresnext50_32x4d", Task::classification, resnet<50, legacy_se_resnext>,
        legacy_resnet_traits, nullptr, true},
    Row{"edgenext_xx_small", Task::classification, edgenext<EdgeNeXtSize::xx_small>,
        edgenext_traits},
    Row{"edgenext_x_small", Task::classification, edgenext<EdgeNeXtSize::x_small>, edgenext_traits},
    Row{"edgenext_small", Task::classification, edgenext<EdgeNeXtSize::small>, edgenext_traits},
    Row{"edgenext_base", Task::classification, edgenext<EdgeNeXtSize::base>, edgenext_traits},
    Row{"efficient_glaucoma_cnn", Task::classification, efficient_glaucoma_cnn,
        efficient_glaucoma_cnn_traits},
    Row{"mlp", Task::classification, mlp, mlp_traits},
    Row{"unet", Task::segmentation, unet, unet_traits, names_of_unet_encoders},
    Row{"plain_conv_unet", Task::segmentation, plain_conv_unet, plain_conv_unet_traits},
    Row{"residual_encoder_unet", Task::segmentation, residual_encoder_unet,
        residual_encoder_unet_traits},
    Row{"residual_unet3d", Task::segmentation, residual_unet3d, residual_unet3d_traits, nullptr,
        false, false, true},
    Row{"camoxpert", Task::segmentation, camoxpert<make_camoxpert>, camoxpert_traits, largest_first,
        false, true},
    Row{"camoxpert_lean", Task::segmentation, camoxpert<make_camoxpert_lean>, camoxpert_traits,
        edgenext_names, false, true},
};

const Row& row_of(const std::string& name) {
  const auto* found = std::ranges::find(rows, name, &Row::name);
  if (found != rows.end()) return *found;
  const std::vector<std::string> classifiers = network_names(Task::classification);
  const std::vector<std::string> segmenters = network_names(Task::segmentation);
  std::vector<std::string> all = classifiers;
  all.insert(all.end(), segmenters.begin(), segmenters.end());
  throw ConfigError("[network] name must be one of " + detail::listed(classifiers) +
                    " (classification), " + detail::listed(segmenters) + " (segmentation)" +
                    ", got \"" + name + '"' + did_you_mean(name, all));
}

// Those that take what another does not.
std::string listed_rows(bool Row::*takes) {
  std::vector<std::string> names;
  for (const Row& row : rows)
    if (row.*takes) names.emplace_back(row.name);
  return detail::listed(names);
}

void refuse_head(const NetworkOptions& options) {
  throw ConfigError("[network] \"" + options.name +
                    "\" has a head of its own and takes no hidden layers and dropout for it, got " +
                    std::to_string(options.head.hidden.size()) + " and " +
                    std::to_string(options.head.dropout.size()) +
                    "; leave them out, or take one of " + listed_rows(&Row::takes_head));
}

void refuse_mixture(const NetworkOptions& options) {
  throw ConfigError("[network] \"" + options.name +
                    "\" has no mixtures of experts and takes no options for them; leave them as "
                    "they are, or take one of " +
                    listed_rows(&Row::takes_mixture));
}

void refuse_unet(const NetworkOptions& options) {
  throw ConfigError("[network] \"" + options.name +
                    "\" has a shape of its own and takes no options `unet`; leave them as they "
                    "are, or take " +
                    listed_rows(&Row::takes_unet));
}

const Row& row_for(const NetworkOptions& options) {
  const Row& row = row_of(options.name);
  if (!row.takes_head && options.head != HeadOptions{}) refuse_head(options);
  if (!row.takes_mixture && options.mixture != MixtureOptions{}) refuse_mixture(options);
  if (!row.takes_unet && options.unet != Unet3dOptions{}) refuse_unet(options);
  if (options.encoder.empty()) return row;
  const std::vector<std::string> encoders = network_encoders(options.name);
  if (encoders.empty())
    throw ConfigError("[network] \"" + options.name + "\" takes no encoder, got \"" +
                      options.encoder + '"');
  if (std::ranges::find(encoders, options.encoder) == encoders.end())
    throw ConfigError("[network] encoder of \"" + options.name + "\" must be one of " +
                      detail::listed(encoders) + ", got \"" + options.encoder + '"' +
                      did_you_mean(options.encoder, encoders));
  return row;
}

}  // namespace

std::vector<std::string> network_names(Task task) {
  std::vector<std::string> names;
  for (const Row& row : rows)
    if (row.task == task) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> network_encoders(const std::string& name) {
  const Row& row = row_of(name);
  return row.encoders == nullptr ? std::vector<std::string>() : row.encoders();
}

std::unique_ptr<Network> make_network(const NetworkOptions& options) {
  return row_for(options).make(options);
}

NetworkTraits network_traits(const NetworkOptions& options) {
  return row_for(options).traits(options);
}

}  // namespace headrace::inline v1::models
