// What a section `model` says of networks with mixtures of experts.
#include <headrace/apps/task/network_torch.h>

#include "../../support/torch_doctest.h"

#include <ATen/ops/zeros.h>

namespace headrace {

TEST_CASE(
    "a section names its network's encoder, experts and heads, or leaves them to the network") {
  app::ModelSettings model;
  const auto note = [&] { return app::network_notes(model).at("network"); };
  model.name = "unet";
  CHECK(note() == "unet of resnet18");
  model.name = "camoxpert";
  CHECK(note() == "camoxpert of edgenext_base");
  model.experts = 5;
  CHECK(note() == "camoxpert of edgenext_base, experts 5");
  model.name = "camoxpert_lean";
  model.experts = 3;
  model.deep_supervision = false;
  model.balance = 0.5;
  model.width = 0.5;
  CHECK(note() == "camoxpert_lean of edgenext_xx_small, width 0.5, experts 3, no deep supervision");
  const app::NetworkShape shape{.outputs = 1, .sides = {64, 64}, .dense = true};
  const auto network = app::make_task_network(model, shape, false);
  const models::Output output = network->outputs(at::zeros({2, 3, 64, 64}));
  CHECK(output.deep.empty());
  // A fresh gate is nearly even: its balance loss is its factor.
  CHECK(output.losses.front().tensor.item<double>() == doctest::Approx(0.5).epsilon(.05));
  CHECK(network->buffers().front().tensor.numel() == 3);
}

TEST_CASE("weights of an EdgeNeXt are normalised as they were trained, in camoxpert, too") {
  app::ModelSettings model;
  model.name = "camoxpert_lean";
  CHECK(app::statistics_of_weights(model).mean == app::imagenet_statistics().mean);
}

}  // namespace headrace
