// The two networks for camouflaged objects: parameters by part, outputs, gradients, memory.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/camoxpert.h>
#include <headrace/models/networks/expert_mixture.h>
#include <headrace/models/networks/named_network.h>
#include <headrace/tests/apps/meta_device.h>
#include <headrace/tests/models/host_bytes.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <torch/optim/adamw.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;
using doctest::Contains;
using headrace::ConfigError;
using headrace::DataError;

namespace {

using Counts = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

std::int64_t count_of(const Network& network, const std::string& prefix) {
  std::int64_t count = 0;
  for (const NamedTensor& item : network.parameters())
    if (item.name.starts_with(prefix)) count += item.tensor.numel();
  return count;
}

// Of `prefix`0, `prefix`1, ...
Counts counts_of(const Network& network, const std::string& prefix, int parts) {
  Counts counts;
  for (int i = 0; i < parts; ++i)
    counts.push_back(count_of(network, prefix + std::to_string(i) + '.'));
  return counts;
}

std::unique_ptr<Network> small_camoxpert(bool lean, const MixtureOptions& mixture = {},
                                         std::int64_t classes = 1) {
  at::manual_seed(3);
  const CamoXpertOptions options{
      .encoder = EdgeNeXtSize::xx_small, .classes = classes, .width = .5, .mixture = mixture};
  return lean ? make_camoxpert_lean(options) : make_camoxpert(options);
}

at::Tensor pictures(std::int64_t count, std::int64_t side = 64) {
  at::manual_seed(4);
  return at::rand({count, 3, side, side}) + at::rand({count, 3, 1, 1});
}

at::Tensor loss_of_output(const Output& output) {
  at::Tensor loss = output.main.square().mean();
  for (const at::Tensor& deep : output.deep)
    loss = loss + deep.square().mean();
  for (const NamedTensor& inside : output.losses)
    loss = loss + inside.tensor;
  return loss;
}

// Behind the only ReLU of few channels, which may be shut for all pictures.
bool may_rest(const std::string& name) {
  return name.find("attention.reduce") != std::string::npos ||
         name.find("attention.expand.weight") != std::string::npos;
}

bool has_part(const Network& network, const std::string& prefix) {
  return count_of(network, prefix) > 0;
}

}  // namespace

TEST_CASE("CamoXpert over EdgeNeXt-base has the parameters of the original, part by part") {
  const auto network = make_camoxpert();
  CHECK(parameter_count(*network) == 30'954'585);
  CHECK(count_of(*network, "backbone.") == 17'925'124);
  CHECK(counts_of(*network, "levels.", 4) == Counts{132'198, 507'588, 1'614'068, 6'557'379});
  CHECK(counts_of(*network, "decoder.blocks.", 4) == Counts{3'008'448, 876'480, 230'880, 83'328});
  CHECK(counts_of(*network, "side.", 3) == Counts{289, 161, 81});
  CHECK(count_of(*network, "head.") == 18'561);
  const Counts attention{5'611, 14'421, 35'173, 114'538};
  const Counts gates{567, 1'127, 2'023, 4'095};
  const std::vector<Counts> experts{
      {27'760, 25'680, 18'500, 13'280, 13'280, 13'280, 14'240},
      {109'920, 102'560, 69'000, 52'160, 52'160, 52'160, 54'080},
      {354'528, 332'064, 216'360, 167'616, 167'616, 167'616, 171'072},
      {1'453'576, 1'364'808, 870'890, 685'616, 685'616, 685'616, 692'624}};
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const std::string level = "levels." + std::to_string(i);
    CAPTURE(level);
    CHECK(count_of(*network, level + ".attention.") == attention[i]);
    CHECK(count_of(*network, level + ".moe.gate.") == gates[i]);
    CHECK(counts_of(*network, level + ".moe.experts.", 7) == experts[i]);
  }
  // Nothing but what the mixtures count is state beside them: filters are computed.
  CHECK(network->buffers().size() == 4);
}

TEST_CASE("fewer experts are the first ones, and without deep supervision there are no heads") {
  const auto five = make_camoxpert({.mixture = {.experts = 5, .deep_supervision = false}});
  CHECK_FALSE(has_part(*five, "side."));
  CHECK(counts_of(*five, "levels.0.moe.experts.", 6) ==
        Counts{27'760, 25'680, 18'500, 13'280, 13'280, 0});
  CHECK(count_of(*five, "levels.0.moe.gate.") == 5 * 81);
  for (const bool lean : {false, true}) {
    CAPTURE(lean);
    const auto two =
        small_camoxpert(lean, {.experts = 2, .balance = 0.0, .deep_supervision = false});
    const Output output = two->outputs(pictures(2));
    CHECK(output.deep.empty());
    CHECK(output.losses.empty());
    loss_of_output(output).backward();
    for (const NamedTensor& item : two->parameters()) {
      CAPTURE(item.name);
      REQUIRE(item.tensor.grad().defined());
      if (!may_rest(item.name))
        CHECK(item.tensor.grad().abs().max().item<double>() > 0.0);  // both are chosen
    }
  }
}

TEST_CASE("the networks for camouflage give logits, finer ones first, and a balance loss") {
  for (const bool lean : {false, true}) {
    CAPTURE(lean);
    const auto network = small_camoxpert(lean, {}, 2);
    const at::Tensor images = at::rand({2, 3, 64, 96});
    const Output output = network->outputs(images);
    CHECK(output.main.sizes() == at::IntArrayRef{2, 2, 64, 96});
    REQUIRE(output.deep.size() == 3);
    const std::int64_t finest = lean ? 8 : 4;
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t stride = finest << i;
      CHECK(output.deep[static_cast<std::size_t>(i)].sizes() ==
            at::IntArrayRef{2, 2, 64 / stride, 96 / stride});
    }
    REQUIRE(output.losses.size() == 1);
    CHECK(output.losses.front().name == "balance");
    CHECK(output.losses.front().tensor.dim() == 0);
    CHECK(output.losses.front().tensor.item<double>() == Approx(.1).epsilon(.05));
    CHECK(at::equal(network->forward(images), output.main));
  }
  // As in the original a logit goes no farther, and then has no gradient.
  const auto network = small_camoxpert(false);
  for (const NamedTensor& item : network->parameters())
    if (item.name == "head.logits.bias") item.tensor.detach().fill_(99.0);
  CHECK(network->forward(pictures(1)).max().item<double>() == 15.0);
}

TEST_CASE("every parameter of the networks for camouflage gets a gradient") {
  for (const bool lean : {false, true}) {
    CAPTURE(lean);
    for (const double capacity : {0.0, 1.0}) {
      const auto network = small_camoxpert(lean, {.capacity = capacity});
      loss_of_output(network->outputs(pictures(4))).backward();
      for (const NamedTensor& item : network->parameters()) {
        CAPTURE(item.name);
        REQUIRE(item.tensor.grad().defined());
        CHECK(at::isfinite(item.tensor.grad()).all().item<bool>());
        if (item.name.find("moe.experts") == std::string::npos && !may_rest(item.name))
          CHECK(item.tensor.grad().abs().max().item<double>() > 0.0);
      }
    }
  }
}

TEST_CASE("a picture's logits do not depend on the others of its batch") {
  for (const bool lean : {false, true}) {
    CAPTURE(lean);
    const auto network = small_camoxpert(lean, {.capacity = 1.0});
    network->set_training(false);
    const at::NoGradGuard no_gradient;
    const at::Tensor images = pictures(5);
    const at::Tensor together = network->forward(images);
    for (std::int64_t n = 0; n < 5; ++n) {
      const at::Tensor alone = network->forward(images.narrow(0, n, 1));
      CHECK((alone[0] - together[n]).abs().max().item<double>() < 1e-5);
    }
  }
}

TEST_CASE("of a frozen backbone nothing is kept for the backward pass but its maps") {
  for (const bool lean : {false, true}) {
    CAPTURE(lean);
    const auto network = small_camoxpert(lean);
    const at::Tensor images = pictures(2, 128);
    // Bytes that are kept between the passes.
    const auto kept = [&] {
      const auto bytes = std::make_shared<HostBytes>();
      const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
      const at::Tensor loss = loss_of_output(network->outputs(images));
      return static_cast<double>(bytes->now());
    };
    kept();  // what is made once is there from now on
    const double trained = kept();
    for (const NamedTensor& item : network->parameters())
      item.tensor.requires_grad_(!item.name.starts_with("backbone."));
    network->set_training(true);
    const double frozen = kept();
    EdgeNeXtEncoder encoder({.size = EdgeNeXtSize::xx_small, .width = .5});
    for (const at::Tensor& parameter : encoder.parameters())
      parameter.requires_grad_(false);
    const auto bytes = std::make_shared<HostBytes>();
    double of_maps = 0.0;
    encoder.features(images);
    {
      const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
      for (const at::Tensor& map : encoder.features(images)) {
        CHECK_FALSE(map.requires_grad());
        of_maps += static_cast<double>(map.nbytes());
      }
    }
    CHECK(static_cast<double>(bytes->now()) <= 0.0);  // all went with the maps
    CHECK(frozen < trained - 2.0 * of_maps);
  }
}

TEST_CASE("experts of the networks for camouflage stay evenly used while they learn") {
  const auto network = small_camoxpert(true);
  std::vector<at::Tensor> parameters;
  for (const NamedTensor& item : network->parameters())
    parameters.push_back(item.tensor);
  torch::optim::AdamW optimizer(parameters, torch::optim::AdamWOptions(1e-3));
  const at::Tensor target = (pictures(4).mean(1, true) > 1.0).to(at::kFloat);
  for (int step = 0; step < 40; ++step) {
    optimizer.zero_grad();
    const Output output = network->outputs(pictures(4));
    const at::Tensor loss = at::binary_cross_entropy_with_logits(output.main, target);
    (loss + output.losses.front().tensor).backward();
    optimizer.step();
  }
  for (const NamedTensor& item : network->buffers()) {
    CAPTURE(item.name);
    CHECK(item.name.ends_with(".moe.load"));
    CHECK(item.tensor.sum().item<double>() == 40 * 4 * 2);
    CHECK(load_evenness(item.tensor) > .8);
  }
}

TEST_CASE("networks for camouflage say their blocks, and none lies in another") {
  Names names = small_camoxpert(false)->blocks();
  std::erase_if(names, [](const std::string& name) { return name.starts_with("backbone."); });
  Names expected;
  for (int i = 0; i < 4; ++i)
    for (const char* part : {".attention", ".moe.experts"})
      expected.push_back("levels." + std::to_string(i) + part);
  for (int i = 0; i < 4; ++i)
    expected.push_back("decoder.blocks." + std::to_string(i));
  expected.emplace_back("head");
  std::ranges::sort(names);
  std::ranges::sort(expected);
  CHECK(names == expected);
  Names lean = small_camoxpert(true)->blocks();
  std::erase_if(lean, [](const std::string& name) { return name.starts_with("backbone."); });
  CHECK(lean == Names{"levels.1.moe.experts", "levels.2.moe.experts", "levels.3.moe.experts",
                      "decoder.blocks.0", "decoder.blocks.1", "decoder.blocks.2"});
}

TEST_CASE("networks for camouflage do not wait for a device, whatever their options") {
  for (const bool lean : {false, true}) {
    for (const bool lowered : {false, true}) {
      CAPTURE(lean);
      CAPTURE(lowered);
      auto made = small_camoxpert(lean, {.experts = 3, .deep_supervision = false, .capacity = 1.0});
      made->move_to(at::kCPU, true);
      MetaNetwork network(std::move(made), lowered);
      const HostCopies copies;
      loss_of_output(network.outputs(at::empty({4, 3, 64, 64}, at::device(at::kMeta)))).backward();
      CHECK(copies.found().empty());
    }
  }
}

TEST_CASE("networks for camouflage that cannot be are refused, and images that they cannot take") {
  CHECK_THROWS_WITH_AS(make_camoxpert({.mixture = {.experts = 8}}),
                       Contains("[camoxpert] experts must be 2 to 7, got 8"), ConfigError);
  CHECK_THROWS_WITH_AS(make_camoxpert_lean({.mixture = {.experts = 5}}),
                       Contains("[camoxpert_lean] experts must be 2 to 4, got 5"), ConfigError);
  CHECK_THROWS_AS(make_camoxpert({.mixture = {.experts = 1}}), ConfigError);
  CHECK_THROWS_WITH_AS(make_camoxpert({.mixture = {.balance = -.1}}), Contains("balance must be 0"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_camoxpert_lean({.mixture = {.capacity = -1.0}}),
                       Contains("capacity must be 0"), ConfigError);
  CHECK_THROWS_AS(make_camoxpert({.classes = 0}), ConfigError);
  CHECK_THROWS_WITH_AS(
      make_network({.name = "unet", .mixture = {.experts = 4}}),
      Contains("\"unet\" has no mixtures of experts and takes no options for them; "
               "leave them as they are, or take one of camoxpert, camoxpert_lean"),
      ConfigError);
  for (const bool lean : {false, true})
    CHECK_THROWS_WITH_AS(small_camoxpert(lean)->forward(at::rand({1, 3, 64, 80})),
                         Contains("multiples of 32, got [1, 3, 64, 80]"), DataError);
  CHECK(network_encoders("camoxpert").front() == "edgenext_base");
  CHECK(network_encoders("camoxpert_lean").front() == "edgenext_xx_small");
}
