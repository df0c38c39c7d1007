// The topological loss beside a GPU, under LibTorch's synchronisation debug mode.
#include <headrace/models/losses/topology_loss.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/torch_gpu.h>

#include "../support/torch_doctest.h"

#include <utility>

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

struct TopologyStep {
  at::Tensor value;
  at::Tensor gradient;
};

TopologyStep step_on(at::Device device, TopologyLoss& loss, const TopologyTargets& targets) {
  const at::Tensor z = hashed_fill("on a GPU", {2, 1, 20, 24, 18}, 0.0, 2.0).to(at::kFloat);
  const at::Tensor leaf = z.to(device).set_requires_grad(true);
  const TopologyTargets there{.betti = targets.betti.to(device),
                              .labels = targets.labels.to(device)};
  const auto run = [&] {
    TopologyPending pending = loss.begin(leaf, there);
    const MeanLoss mean = loss.finish(std::move(pending));
    mean.value.backward();
    return mean.value.detach();
  };
  if (!device.is_cuda()) return {.value = run(), .gradient = leaf.grad()};
  run();  // what is made once
  leaf.mutable_grad().reset();
  at::Tensor value;
  {
    const WaitsThrow waits_throw;
    value = run();
  }
  return {.value = value.cpu(), .gradient = leaf.grad().cpu()};
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the topological loss waits for its workers and never for the GPU") {
    if (!open_torch_gpu()) return skip("needs a GPU");
    REQUIRE(sync_debug_mode() != nullptr);
    const at::Tensor labels =
        (hashed_fill("unknown", {2, 20, 24, 18}, .5, .5) * 3).floor().to(at::kByte);
    const TopologyTargets targets{.betti = at::tensor({1, 0, 0, 2, 1, 0}, at::kLong).view({2, 3}),
                                  .labels = labels};
    TopologyLoss loss({.side = 16, .ignore = 2});
    const TopologyStep host = step_on(at::kCPU, loss, targets);
    const TopologyStep device = step_on(at::Device(at::kCUDA, 0), loss, targets);
    CHECK(at::allclose(device.value, host.value, 1e-4));
    CHECK(at::allclose(device.gradient, host.gradient, 1e-3, 1e-6));
    const TopologyStep again = step_on(at::Device(at::kCUDA, 0), loss, targets);
    CHECK(at::equal(again.value, device.value));
    CHECK(at::equal(again.gradient, device.gradient));
  }
}
