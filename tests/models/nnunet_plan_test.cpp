// nnU-Net's networks before a step is taken: planner, refused options and images, memory.
#include <headrace/engine/base/error.h>
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

// Maps so large that a few values a map do not count, and kernels of 1 in float64, for which the
// convolutions of the CPU need no scratch going forward, and little going back.
const NnUNetOptions lean{.dims = 2,
                         .in_channels = 3,
                         .classes = 5,
                         .features_per_stage = {8, 16, 24},
                         .kernel_sizes = {{1, 1}, {1, 1}, {1, 1}}};
const std::vector<std::int64_t> lean_sizes{2, 3, 96, 128};
constexpr double value_of_each_pixel = sizeof(double) * 2 * 96 * 128;  // bytes

std::unique_ptr<Network> lean_network(bool residual) {
  auto network = make_nnunet(residual, lean);
  for (NamedTensor& item : network->parameters())
    item.tensor.set_data(item.tensor.to(at::kDouble));
  return network;
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
    CHECK_NOTHROW(nnunet_side_divisors(plan.options));
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

TEST_CASE("a step has no more beside what its backward pass needs than gradients of two maps") {
  for (const bool residual : {false, true}) {
    CAPTURE(residual);
    const auto network = lean_network(residual);
    const auto bytes = std::make_shared<HostBytes>();
    const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
    const Output output = network->outputs(at::rand(lean_sizes, at::kDouble));
    const auto kept = static_cast<double>(bytes->now());
    at::Tensor loss = output.main.sum();
    for (const at::Tensor& coarser : output.deep)
      loss = loss + coarser.sum();
    loss.backward();
    CHECK(static_cast<double>(bytes->most()) < 1.05 * (kept + 2 * 8 * value_of_each_pixel));
  }
}

TEST_CASE("a prediction has four maps of the finest stage at once beside the images") {
  for (const bool residual : {false, true}) {
    CAPTURE(residual);
    const auto network = lean_network(residual);
    const double most = peak_of([&] {
      const at::NoGradGuard no_gradient;
      network->forward(at::rand(lean_sizes, at::kDouble));
    });
    CHECK(most == Approx((3 + 4 * 8) * value_of_each_pixel).epsilon(.01));
  }
}

TEST_CASE("nnU-Net's networks keep no more for the backward pass than their peers") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    const auto network = make_nnunet(reference.residual, reference.options);
    const auto bytes = std::make_shared<HostBytes>();
    const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
    const at::Tensor images = at::rand(reference.sizes);
    const Output output = network->outputs(images);
    const auto voxels = static_cast<double>(images.numel() / images.size(1));
    const double kept = static_cast<double>(bytes->now()) / sizeof(float) / voxels;
    CHECK(kept < 1.1 * reference.kept);  // with the statistics of the norms
  }
}
