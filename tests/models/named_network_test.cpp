#include <headrace/engine/base/error.h>
#include <headrace/models/networks/resnet.h>
#include <headrace/models/networks/unet.h>
#include <headrace/tests/apps/meta_device.h>
#include <headrace/tests/models/named_networks.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Contains;
using headrace::ConfigError;
using headrace::DataError;

namespace {

bool has_prefix(const NamedTensors& tensors, const std::string& prefix) {
  return std::ranges::any_of(
      tensors, [&](const NamedTensor& item) { return item.name.starts_with(prefix); });
}

// Two of them, or vectors.
at::Tensor inputs_of(const NetworkOptions& options, std::int64_t side,
                     at::TensorOptions as = at::kFloat) {
  return at::zeros(input_sizes(options, side), as) + 0.5;
}

// Of all that the network gives.
at::Tensor loss_of(Network& network, const at::Tensor& images) {
  const Output output = network.outputs(images);
  at::Tensor loss = output.main.sum();
  for (const at::Tensor& deep : output.deep)
    loss = loss + deep.sum();
  for (const NamedTensor& inside : output.losses)
    loss = loss + inside.tensor;
  return loss;
}

at::Tensor find_tensor(const NamedTensors& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? at::Tensor() : found->tensor;
}

}  // namespace

TEST_CASE("every named network gives logits of its task, and has the tensors that it names") {
  for (NetworkOptions options : all_networks()) {
    CAPTURE(options.name);
    CAPTURE(options.encoder);
    options.in_channels = 4;
    options.classes = 3;
    const auto network = make_network(options);
    const NetworkTraits traits = network_traits(options);
    const NamedTensors parameters = network->parameters();
    CHECK(has_prefix(parameters, traits.weights.head));
    const std::string first =
        traits.takes_vectors ? "fc1.weight" : traits.weights.first_convolution;
    CHECK(find_tensor(parameters, first).size(1) == 4);
    if (!traits.weights.encoder.empty()) CHECK(has_prefix(parameters, traits.weights.encoder));

    const std::int64_t side = traits.takes_pictures
                                  ? std::max(traits.least_side, 2 * traits.side_divisors.front())
                                  : 4 * traits.least_side;
    const at::NoGradGuard no_gradient;
    std::vector<std::int64_t> sizes = input_sizes(options, side);
    if (sizes.size() == 5) sizes = {2, options.in_channels, side / 4, side / 2, 3 * side / 4};
    const at::Tensor input = at::zeros(sizes) + 0.5;
    const at::Tensor logits = network->forward(input);
    const auto classifiers = network_names(Task::classification);
    if (std::ranges::find(classifiers, options.name) != classifiers.end())
      CHECK(logits.sizes() == at::IntArrayRef{2, 3});
    else
      CHECK(logits.sizes() == input.narrow(1, 0, 3).sizes());
    CHECK(at::isfinite(logits).all().item<bool>());
  }
}

TEST_CASE("no step of a named network reads a value on the host or copies to the device") {
  for (const NetworkOptions& options : networks_of_any_side()) {
    for (const bool lowered : {false, true}) {
      CAPTURE(options.name);
      CAPTURE(options.encoder);
      CAPTURE(lowered);
      auto made = make_network(options);
      made->move_to(at::kCPU, true);
      MetaNetwork network(std::move(made), lowered);
      const HostCopies copies;
      const std::int64_t side = network_traits(options).takes_pictures ? 32 : 64;
      const at::Tensor images = inputs_of(options, side, at::device(at::kMeta));
      loss_of(network, images).backward();
      network.set_training(false);
      network.forward(images);
      CHECK(copies.found().empty());
      for (const NamedTensor& item : network.parameters())
        CHECK(item.tensor.grad().sizes() == item.tensor.sizes());
    }
  }
}

TEST_CASE("a width factor scales every channel count to a multiple of eight") {
  const auto network = make_resnet({.depth = 50, .classes = 5, .width = .3});
  const NamedTensors parameters = network->parameters();
  CHECK(find_tensor(parameters, "conv1.weight").size(0) == 16);           // 19.2
  CHECK(find_tensor(parameters, "layer2.0.conv2.weight").size(0) == 40);  // 38.4
  CHECK(find_tensor(parameters, "fc.weight").size(1) == 4 * 152);         // 153.6
  const auto grouped = make_resnet({.classes = 5, .width = .25, .variant = se_resnext});
  const NamedTensors of_groups = grouped->parameters();
  CHECK(find_tensor(of_groups, "layer1.0.conv2.weight").sizes() == at::IntArrayRef{32, 1, 3, 3});
  CHECK(find_tensor(of_groups, "layer4.0.conv2.weight").sizes() == at::IntArrayRef{256, 8, 3, 3});
  CHECK(find_tensor(of_groups, "layer1.0.se.fc1.weight").sizes() == at::IntArrayRef{8, 64, 1, 1});
  const auto thin = make_unet({.encoder = 18, .width = .1});
  CHECK(find_tensor(thin->parameters(), "decoder.blocks.4.conv2.0.weight").size(0) == 8);
}

TEST_CASE("networks start as those of timm and segmentation_models.pytorch do") {
  const auto resnet = make_resnet({.depth = 34, .classes = 10});
  const NamedTensors parameters = resnet->parameters();
  const at::Tensor middle = find_tensor(parameters, "layer3.1.conv2.weight").detach();
  CHECK(middle.std().item<double>() == doctest::Approx(std::sqrt(2.0 / (256 * 9))).epsilon(.01));
  CHECK(find_tensor(parameters, "layer3.1.bn1.weight").min().item<double>() == 1.0);
  CHECK(find_tensor(parameters, "layer3.1.bn2.weight").abs().max().item<double>() == 0.0);
  CHECK(find_tensor(parameters, "fc.weight").abs().max().item<double>() ==
        doctest::Approx(std::sqrt(1.0 / 512)).epsilon(.01));

  const auto resnext = make_resnet({.classes = 10, .variant = se_resnext});
  const NamedTensors of_resnext = resnext->parameters();
  const at::Tensor grouped = find_tensor(of_resnext, "layer3.1.conv2.weight").detach();
  CHECK(grouped.std().item<double>() == doctest::Approx(std::sqrt(2.0 / (512 * 9))).epsilon(.01));
  const at::Tensor squeeze = find_tensor(of_resnext, "layer4.1.se.fc1.weight").detach();
  CHECK(squeeze.std().item<double>() == doctest::Approx(std::sqrt(2.0 / 128)).epsilon(.01));
  CHECK(find_tensor(of_resnext, "layer4.1.se.fc1.bias").abs().max().item<double>() <=
        std::sqrt(1.0 / 2048));
  for (const auto& [layer, blocks] : {std::pair{1, 3}, {2, 4}, {3, 6}, {4, 3}})
    for (int block = 0; block < blocks; ++block) {
      const std::string name = "layer" + std::to_string(layer) + '.' + std::to_string(block);
      CHECK(find_tensor(of_resnext, name + ".bn3.weight").abs().max().item<double>() == 0.0);
      CHECK(find_tensor(of_resnext, name + ".bn2.weight").min().item<double>() == 1.0);
    }
  const auto legacy = make_network({.name = "legacy_seresnext50_32x4d"});
  CHECK(find_tensor(legacy->parameters(), "layer4.1.bn3.weight").min().item<double>() == 1.0);

  const auto unet = make_unet({.encoder = 34, .classes = 3});
  const NamedTensors of_unet = unet->parameters();
  CHECK(find_tensor(of_unet, "encoder.layer3.1.bn2.weight").min().item<double>() == 1.0);
  const at::Tensor decoder = find_tensor(of_unet, "decoder.blocks.1.conv2.0.weight").detach();
  CHECK(decoder.abs().max().item<double>() ==
        doctest::Approx(std::sqrt(6.0 / (128 * 9))).epsilon(.01));
  CHECK(find_tensor(of_unet, "segmentation_head.0.weight").abs().max().item<double>() ==
        doctest::Approx(std::sqrt(6.0 / ((16 + 3) * 9))).epsilon(.02));
  CHECK(find_tensor(of_unet, "segmentation_head.0.bias").abs().max().item<double>() == 0.0);
}

TEST_CASE("an unknown network, encoder or shape is refused with what there is") {
  CHECK_THROWS_WITH_AS(make_network({.name = "resnet19"}),
                       Contains("one of resnet18, resnet34, resnet50, seresnext50_32x4d, "
                                "legacy_seresnext50_32x4d, edgenext_xx_small, edgenext_x_small, "
                                "edgenext_small, edgenext_base, efficient_glaucoma_cnn, mlp"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(network_traits({.name = "resnet81"}),
                       Contains("got \"resnet81\"; did you mean \"resnet18\"?"), ConfigError);
  CHECK_THROWS_WITH_AS(network_encoders("unnet"), Contains("did you mean \"unet\"?"), ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "unet", .encoder = "resnet43"}),
                       Contains("did you mean \"resnet34\"?"), ConfigError);
  CHECK_THROWS_WITH_AS(network_traits({.name = ""}), Contains("got \"\""), ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "unet", .encoder = "vgg16"}),
                       Contains("one of resnet34, resnet18, resnet50, got \"vgg16\""), ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "resnet18", .encoder = "resnet18"}),
                       Contains("\"resnet18\" takes no encoder"), ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "efficient_glaucoma_cnn", .width = .5}),
                       Contains("has no width factor, got 0.5"), ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "resnet18", .width = 0.0}), Contains("width"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "resnet18", .in_channels = 0}), Contains("channel"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "unet", .classes = 0}), Contains("class"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "mlp", .head = {.hidden = {8}}}),
                       Contains("\"mlp\" has a head of its own"), ConfigError);
  CHECK_THROWS_WITH_AS(network_traits({.name = "unet", .head = {.dropout = {.5}}}),
                       Contains("take one of resnet18, resnet34, resnet50, seresnext50_32x4d"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_network({.name = "unet", .unet = {.base = 8}}),
                       Contains("\"unet\" has a shape of its own and takes no options `unet`; "
                                "leave them as they are, or take residual_unet3d"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_resnet({.depth = 34, .variant = {.groups = 32}}),
                       Contains("depth 50, got depth 34"), ConfigError);
  CHECK_THROWS_WITH_AS(make_resnet({.variant = {.groups = 0}}), Contains("at least 1, got 0"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_resnet({.depth = 101}), Contains("18, 34 or 50, got 101"), ConfigError);
}

TEST_CASE("images that a network cannot take are refused with their shape") {
  const auto unet = make_network({.name = "unet", .width = .125});
  CHECK_THROWS_WITH_AS(unet->forward(at::rand({1, 3, 64, 100})),
                       Contains("multiples of 32, got [1, 3, 64, 100]"), DataError);
  CHECK_THROWS_WITH_AS(unet->forward(at::rand({1, 1, 64, 64})), Contains("[N, 3, H, W]"),
                       DataError);
  const auto resnet = make_network({.name = "resnet18", .width = .125});
  CHECK_THROWS_WITH_AS(resnet->forward(at::rand({3, 64, 64})), Contains("got [3, 64, 64]"),
                       DataError);
  CHECK_THROWS_AS(resnet->forward(at::rand({2, 3, 0, 64})), DataError);
  CHECK(resnet->forward(at::rand({2, 3, 28, 5})).sizes() == at::IntArrayRef{2, 2});
  const auto mlp = make_network({.name = "mlp", .in_channels = 6, .width = .125});
  CHECK_THROWS_WITH_AS(mlp->forward(at::rand({2, 5})), Contains("must be [N, 6], got [2, 5]"),
                       DataError);
}
