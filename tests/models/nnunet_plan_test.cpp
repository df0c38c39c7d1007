// nnU-Net's networks before a step is taken: planner, refused options and images, memory.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/nnunet_memory.h>
#include <headrace/models/networks/nnunet_planner.h>
#include <headrace/tests/models/host_bytes.h>
#include <headrace/tests/models/nnunet_reference.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <c10/util/ThreadLocalDebugInfo.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

template <typename Error>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

Activations activations(bool residual, const NnUNetOptions& options) {
  return residual ? residual_encoder_unet_activations(options)
                  : plain_conv_unet_activations(options);
}

// Maps large enough that a few values a map do not count, and kernels of 1 in float64, for which
// the convolutions of the CPU need no scratch going forward, and little going back.
struct Sized {
  bool residual;
  NnUNetOptions options;
  std::vector<std::int64_t> sizes;
};

std::vector<Sized> sized_networks() {
  std::vector<Sized> all;
  for (const bool residual : {false, true}) {
    all.push_back({residual,
                   {.dims = 2,
                    .in_channels = 3,
                    .classes = 5,
                    .features_per_stage = {8, 16, 24},
                    .kernel_sizes = {{1, 1}, {1, 1}, {1, 1}}},
                   {2, 3, 96, 128}});
    all.push_back({residual,
                   {.features_per_stage = {6, 12, 12},
                    .kernel_sizes = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                    .strides = {{1, 1, 1}, {1, 2, 2}, {2, 2, 2}},
                    .deep_supervision = false},
                   {1, 1, 8, 64, 48}});
  }
  return all;
}

std::int64_t bytes_of_a_step(Network& network, const std::vector<std::int64_t>& sizes) {
  const auto bytes = std::make_shared<HostBytes>();
  const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
  const Output output = network.outputs(at::rand(sizes, at::kDouble));
  at::Tensor loss = output.main.sum();
  for (const at::Tensor& coarser : output.deep)
    loss = loss + coarser.sum();
  loss.backward();
  return bytes->most();
}

std::int64_t bytes_of_a_prediction(Network& network, const std::vector<std::int64_t>& sizes) {
  const auto bytes = std::make_shared<HostBytes>();
  const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
  const at::NoGradGuard no_gradient;
  network.forward(at::rand(sizes, at::kDouble));
  return bytes->most();
}

double values_per_voxel(std::int64_t bytes, const Sized& sized) {
  std::int64_t voxels = sized.sizes[0];
  for (std::size_t axis = 2; axis < sized.sizes.size(); ++axis)
    voxels *= sized.sizes[axis];
  return static_cast<double>(bytes) / sizeof(double) / static_cast<double>(voxels);
}

}  // namespace

TEST_CASE("stages, strides, kernels and features are those of nnU-Net's planner") {
  for (const Planned& planned : plans) {
    const NnUNetPlan plan = plan_nnunet({.patch_size = planned.patch, .spacing = planned.spacing});
    CAPTURE(at::IntArrayRef(planned.patch));
    CHECK(plan.options.dims == static_cast<std::int64_t>(planned.patch.size()));
    CHECK(plan.options.strides == planned.strides);
    CHECK(plan.options.kernel_sizes == planned.kernels);
    CHECK(plan.options.features_per_stage == planned.features);
    CHECK(plan.patch_size == planned.padded);
    CHECK_NOTHROW(plain_conv_unet_activations(plan.options));
  }
}

TEST_CASE("the planner hands channels, classes and first features on") {
  const NnUNetOptions options =
      plan_nnunet({.patch_size = {64, 64}, .in_channels = 3, .classes = 7, .base_features = 300})
          .options;
  CHECK(options.in_channels == 3);
  CHECK(options.classes == 7);
  CHECK(options.features_per_stage == std::vector<std::int64_t>{300, 512, 512, 512, 512});
  CHECK(nnunet_side_divisors(options) == std::vector<std::int64_t>{16, 16});
}

TEST_CASE("the planner refuses what makes no network") {
  const auto refusal = [](const NnUNetPatch& patch) {
    return message_of<headrace::ConfigError>([&] { plan_nnunet(patch); });
  };
  CHECK(refusal({.patch_size = {64}}) ==
        "[nnU-Net planner] patch_size must be 2 or 3 sides of at least 1, got [64]");
  CHECK(refusal({.patch_size = {64, 0}}) ==
        "[nnU-Net planner] patch_size must be 2 or 3 sides of at least 1, got [64, 0]");
  CHECK(refusal({.patch_size = {64, 64}, .spacing = {1.0, -1.0}}) ==
        "[nnU-Net planner] spacing must be 2 positive lengths, one for each side, got [1, -1]");
  CHECK(refusal({.patch_size = {64, 64}, .spacing = {1.0}}) ==
        "[nnU-Net planner] spacing must be 2 positive lengths, one for each side, got [1]");
  CHECK(refusal({.patch_size = {64, 64}, .base_features = 0}) ==
        "[nnU-Net planner] base_features must be at least 1, got 0");
  CHECK(refusal({.patch_size = {11, 7}}) ==
        "[nnU-Net planner] patch_size must have two sides of at least 8, or one of at least 12, to "
        "be halved, got [11, 7]");
}

TEST_CASE("options that make no network are refused by key, rule and what came") {
  const auto refusal = [](const NnUNetOptions& options) {
    const std::string plain =
        message_of<headrace::ConfigError>([&] { make_plain_conv_unet(options); });
    const std::string residual =
        message_of<headrace::ConfigError>([&] { make_residual_encoder_unet(options); });
    CHECK(plain.starts_with("[PlainConvUNet] "));
    CHECK(residual.starts_with("[ResidualEncoderUNet] "));
    CHECK(plain.substr(plain.find(']')) == residual.substr(residual.find(']')));
    return plain.substr(plain.find(']') + 2);
  };
  CHECK(refusal({.dims = 4}) == "dims must be 2 or 3, got 4");
  CHECK(refusal({.in_channels = 0}) == "in_channels must be at least 1, got 0");
  CHECK(refusal({.classes = 0}) == "classes must be at least 1, got 0");
  CHECK(refusal({.features_per_stage = {32}}) ==
        "features_per_stage must have at least 2 entries, got [32]");
  CHECK(refusal({.features_per_stage = {32, 0}}) ==
        "features_per_stage must all be at least 1, got [32, 0]");
  CHECK(refusal({.features_per_stage = {8, 16}, .kernel_sizes = {{3, 3, 3}}}) ==
        "kernel_sizes must have an entry for each of the 2 features_per_stage, got 1");
  CHECK(refusal({.features_per_stage = {8, 16}, .kernel_sizes = {{3, 3, 3}, {3, 3}}}) ==
        "kernel_sizes of stage 1 must be 3 values of at least 1, got [3, 3]");
  CHECK(refusal({.features_per_stage = {8, 16}, .kernel_sizes = {{3, 3, 3}, {2, 3, 3}}}) ==
        "kernel_sizes of stage 1 must be odd, got [2, 3, 3]");
  CHECK(refusal({.features_per_stage = {8, 16}, .strides = {{1, 1, 1}, {2, 2, 2}, {2, 2, 2}}}) ==
        "strides must have an entry for each of the 2 features_per_stage, got 3");
  CHECK(refusal({.features_per_stage = {8, 16}, .strides = {{1, 1, 1}, {2, 0, 2}}}) ==
        "strides of stage 1 must be 3 values of at least 1, got [2, 0, 2]");
  CHECK(refusal({.features_per_stage = {8, 16}, .strides = {{1, 2, 2}, {2, 2, 2}}}) ==
        "strides of stage 0 must be 1, got [1, 2, 2]; otherwise the logits would be smaller than "
        "the image");
  CHECK(refusal({.features_per_stage = {8, 16}, .n_blocks_per_stage = {2}}) ==
        "n_blocks_per_stage must have 2 entries, got [2]");
  CHECK(refusal({.features_per_stage = {8, 16}, .n_conv_per_stage_decoder = {2, 2}}) ==
        "n_conv_per_stage_decoder must have 1 entries, got [2, 2]");
  CHECK(refusal({.features_per_stage = {8, 16}, .n_conv_per_stage_decoder = {0}}) ==
        "n_conv_per_stage_decoder must all be at least 1, got [0]");
}

TEST_CASE("images that do not fit are refused with the sides that would") {
  const NnUNetOptions options{.features_per_stage = {2, 2, 2},
                              .strides = {{1, 1, 1}, {1, 2, 2}, {2, 2, 2}}};
  CHECK(nnunet_side_divisors(options) == std::vector<std::int64_t>{2, 4, 4});
  for (const bool residual : {false, true}) {
    const auto network = make_nnunet(residual, options);
    const std::string who = residual ? "[ResidualEncoderUNet] " : "[PlainConvUNet] ";
    const auto refusal = [&](const std::vector<std::int64_t>& sizes) {
      const std::string forward =
          message_of<headrace::DataError>([&] { network->forward(at::zeros(sizes)); });
      CHECK(forward ==
            message_of<headrace::DataError>([&] { network->outputs(at::zeros(sizes)); }));
      return forward;
    };
    CHECK(refusal({1, 4, 8, 8}) == who + "images must be [N, 1, D, H, W], got [1, 4, 8, 8]");
    CHECK(refusal({1, 2, 4, 8, 8}) == who + "images must be [N, 1, D, H, W], got [1, 2, 4, 8, 8]");
    const std::string rule =
        who +
        "images must be [N, 1, D, H, W] with sides that are multiples of [2, 4, 4], one of "
        "them of more than once, got ";
    CHECK(refusal({1, 1, 3, 8, 10}) == rule + "[1, 1, 3, 8, 10]; pad them to [4, 8, 12] or more");
    CHECK(refusal({1, 1, 2, 4, 4}) == rule + "[1, 1, 2, 4, 4]; pad them to [2, 4, 8] or more");
    CHECK(refusal({1, 1, 0, 4, 4}) == rule + "[1, 1, 0, 4, 4]; pad them to [2, 4, 8] or more");
    CHECK(network->forward(at::zeros({1, 1, 2, 4, 8})).sizes() == at::IntArrayRef{1, 2, 2, 4, 8});
  }
}

TEST_CASE("the forecast of a training step counts what autograd keeps in nnU-Net's networks") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    const double gradients = 2.0 * static_cast<double>(reference.options.features_per_stage[0]);
    CHECK(activations(reference.residual, reference.options).training ==
          Approx(reference.kept + gradients).epsilon(1e-12));
  }
}

TEST_CASE("the forecast of memory is what LibTorch allocates") {
  for (const Sized& sized : sized_networks()) {
    CAPTURE(sized.residual);
    CAPTURE(sized.options.dims);
    const auto network = make_nnunet(sized.residual, sized.options);
    for (NamedTensor& item : network->parameters())
      item.tensor.set_data(item.tensor.to(at::kDouble));
    const Activations forecast = activations(sized.residual, sized.options);
    CHECK(values_per_voxel(bytes_of_a_step(*network, sized.sizes), sized) ==
          Approx(forecast.training).epsilon(.05));
    CHECK(values_per_voxel(bytes_of_a_prediction(*network, sized.sizes), sized) ==
          Approx(forecast.evaluation).epsilon(.01));
  }
}
