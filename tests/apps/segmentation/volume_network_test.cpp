// Networks by name for volumes: nnU-Net's for a patch and its spacing.
#include <headrace/apps/jobs/segmentation/nnunet_plan.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/segmentation/stored_plans.h>

#include "../../support/torch_doctest.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

namespace headrace {
using models::Task;

namespace {

const std::vector<std::string> names = models::network_names(Task::segmentation);

app::NetworkShape shape_of(const std::vector<std::int64_t>& patch,
                           const std::vector<double>& spacing) {
  return {.outputs = 3, .channels = 1, .sides = patch, .dense = true, .spacing = spacing};
}

app::ModelSettings small(const std::string& name) {
  app::ModelSettings model;
  model.name = name;
  model.width = 0.0625;
  return model;
}

// Sides of a kernel by the parameter's name; empty where there is no such parameter.
std::vector<std::int64_t> kernel_of(const models::Network& network, const std::string& name) {
  for (const models::NamedTensor& one : network.parameters())
    if (one.name == name) return one.tensor.sizes().slice(2).vec();
  return {};
}

void check_plan(const app::NnUNetConfiguration& plan) {
  CAPTURE(plan.name);
  const app::NetworkShape shape = shape_of(plan.patch_size, plan.spacing);
  app::check_network(small("plain_conv_unet"), names, shape);
  const auto network = app::make_task_network(small("plain_conv_unet"), shape, true);
  const std::size_t stages = plan.strides.size();
  for (std::size_t stage = 0; stage < stages; ++stage) {
    CAPTURE(stage);
    const std::string of_stage = "encoder.stages." + std::to_string(stage) + ".0.convs.";
    CHECK(kernel_of(*network, of_stage + "0.conv.weight") == plan.kernel_sizes[stage]);
    CHECK(kernel_of(*network, of_stage + "1.conv.weight") == plan.kernel_sizes[stage]);
    // Decoders go up by what the encoder's stage went down.
    if (stage == 0) continue;
    const std::string up = "decoder.transpconvs." + std::to_string(stages - 1 - stage) + ".weight";
    CHECK(kernel_of(*network, up) == plan.strides[stage]);
  }
  CHECK(kernel_of(*network, "encoder.stages." + std::to_string(stages) + ".0.convs.0.conv.weight")
            .empty());
  std::vector<std::int64_t> divisors(plan.patch_size.size(), 1);
  for (const auto& stride : plan.strides)
    for (std::size_t axis = 0; axis < divisors.size(); ++axis)
      divisors[axis] *= stride[axis];
  CHECK(app::traits_of(small("residual_encoder_unet"), shape).side_divisors == divisors);
}

std::string network_refusal(const std::string& name, const app::NetworkShape& shape) {
  try {
    app::check_network(small(name), names, shape);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("networks for volumes have the strides and kernels of nnU-Net's plans") {
  int plans = 0, anisotropic = 0;
  for (const test::Json& made : test::stored_plans()) {
    CAPTURE(made.at("name").get<std::string>());
    const app::NnUNetPlans planned =
        app::plan_segmentation(test::fingerprint_of(made), test::question_of(made));
    for (const auto& one : {planned.fullres, planned.lowres}) {
      if (!one) continue;
      check_plan(*one);
      ++plans;
      anisotropic += one->spacing.front() > 2 * one->spacing.back() ? 1 : 0;
    }
  }
  CHECK(plans == 15);
  CHECK(anisotropic > 2);
}

TEST_CASE("both networks take volumes of a flat patch") {
  for (const char* name : {"plain_conv_unet", "residual_encoder_unet"}) {
    CAPTURE(name);
    const app::NetworkShape shape = shape_of({8, 32, 32}, {5.0, 1.0, 1.0});
    CHECK_NOTHROW(app::check_network(small(name), names, shape));
    const auto network = app::make_task_network(small(name), shape, true);
    const at::NoGradGuard no_gradient;
    CHECK(network->forward(at::zeros({1, 1, 8, 32, 32})).sizes() ==
          at::IntArrayRef({1, 3, 8, 32, 32}));
    const models::Output output = network->outputs(at::zeros({1, 1, 8, 32, 32}));
    REQUIRE(output.deep.size() > 1);
    CHECK(output.deep.front().sizes() == at::IntArrayRef({1, 3, 8, 16, 16}));
  }
}

TEST_CASE("a patch that its network cannot take is refused with one that it can") {
  CHECK(network_refusal("plain_conv_unet", shape_of({30, 64, 65}, {})) ==
        "[config] volume.patch must be multiples of [8, 16, 16] for the network plain_conv_unet, "
        "got [30, 64, 65]; take [32, 64, 64]");
  CHECK(network_refusal("residual_encoder_unet", shape_of({10, 64, 64}, {5, 1, 1})) ==
        "nothing thrown");
  CHECK(network_refusal("plain_conv_unet", shape_of({64, 64, 64}, {1, 1, 1})) == "nothing thrown");
  CHECK(network_refusal("unet", shape_of({64, 64, 64}, {})) ==
        "[config] model.name: \"unet\" takes pictures, but the data are volumes; take one of "
        "plain_conv_unet, residual_encoder_unet, residual_unet3d");
  // What is advised is taken.
  for (std::int64_t side = 8; side < 200; ++side) {
    const std::string said = network_refusal("plain_conv_unet", shape_of({side, 64, 17}, {}));
    const auto at = said.find("take [");
    if (at == std::string::npos) continue;
    std::vector<std::int64_t> advised;
    std::string word = said.substr(at + 6);
    std::ranges::replace(word, ',', ' ');
    std::istringstream words(word);
    for (std::int64_t one = 0; words >> one;)
      advised.push_back(one);
    REQUIRE(advised.size() == 3);
    CHECK(network_refusal("plain_conv_unet", shape_of(advised, {})) == "nothing thrown");
    CHECK(std::abs(advised[0] - side) <= 32);
  }
}

TEST_CASE("residual_unet3d takes odd patches of volumes, no small ones, and no pictures") {
  CHECK(network_refusal("residual_unet3d", shape_of({17, 33, 35}, {})) == "nothing thrown");
  const std::string small_patch = network_refusal("residual_unet3d", shape_of({16, 32, 12}, {}));
  CHECK_MESSAGE(small_patch.find("volume.patch must be at least 16") != std::string::npos,
                small_patch);
  // A norm needs two values where sides are divided by 16.
  CHECK(network_refusal("residual_unet3d", shape_of({16, 24, 31}, {})) ==
        "[config] volume.patch must be at least 16 along every axis, and 32 along one, for the "
        "network residual_unet3d, got 16 x 24 x 31");
  const app::NetworkShape picture{.outputs = 1, .channels = 1, .sides = {64, 64}, .dense = true};
  const std::string pictures = network_refusal("residual_unet3d", picture);
  CHECK_MESSAGE(pictures.find("takes volumes, but the data are pictures") != std::string::npos,
                pictures);
  app::ModelSettings model;
  model.name = "residual_unet3d";
  model.base = 4;
  model.blocks = 1;
  model.dropout = {0.0};
  model.deep_supervision = false;
  app::NetworkShape shape = shape_of({16, 32, 16}, {});
  shape.outputs = 1;
  const at::NoGradGuard none;
  const auto network = app::make_task_network(model, shape, true);
  network->set_training(true);
  const models::Output output = network->outputs(at::zeros({1, 1, 16, 32, 16}));
  CHECK(output.main.sizes() == at::IntArrayRef({1, 1, 16, 32, 16}));
  CHECK(output.deep.empty());
  CHECK(app::network_notes(model).at("network") ==
        "residual_unet3d, base 4, blocks 1, no deep supervision, dropout [0]");
}

}  // namespace headrace
