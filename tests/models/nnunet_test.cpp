// PlainConvUNet and the residual-encoder U-Net against nnU-Net's own (dynamic-network-architectures
// 0.4.4): names, parameters, logits, gradients.
#include <headrace/models/networks/nnunet_networks.h>
#include <headrace/tests/apps/meta_device.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/models/nnunet_reference.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

bool ends_with(const std::string& name, const char* end) {
  return name.ends_with(end);
}

// The weights of the Python script, in the type that is asked for.
void fill_as_script(const Network& network, at::ScalarType type) {
  for (NamedTensor& item : network.parameters()) {
    const at::Tensor filled =
        item.tensor.dim() > 1
            ? hashed_fill(item.name, item.tensor.sizes(), 0.0,
                          std::sqrt(6.0 / static_cast<double>(item.tensor[0].numel())))
            : hashed_fill(item.name, item.tensor.sizes(), ends_with(item.name, "norm.weight"), 0.5);
    item.tensor.set_data(filled.to(type));
  }
}

std::vector<at::Tensor> all_outputs(Network& network, const at::Tensor& images) {
  Output output = network.outputs(images);
  std::vector<at::Tensor> all = {output.main};
  all.insert(all.end(), output.deep.begin(), output.deep.end());
  return all;
}

// Convolutions in bfloat16 on the CPU.
class LoweredConvolutions {
 public:
  LoweredConvolutions() { at::autocast::set_autocast_enabled(at::kCPU, true); }
  ~LoweredConvolutions() {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
  }
  LoweredConvolutions(const LoweredConvolutions&) = delete;
  LoweredConvolutions& operator=(const LoweredConvolutions&) = delete;
};

std::vector<double> seen(const at::Tensor& output) {
  const at::Tensor flat = output.detach().to(at::kDouble).flatten();
  std::vector<double> values = {flat.sum().item<double>(), flat.abs().sum().item<double>()};
  for (const std::int64_t index : {std::int64_t{0}, flat.numel() / 2, flat.numel() - 1})
    values.push_back(flat[index].item<double>());
  return values;
}

void check_outputs(const Reference& reference, at::ScalarType type, double tolerance) {
  CAPTURE(reference.name);
  const auto network = make_nnunet(reference.residual, reference.options);
  fill_as_script(*network, type);
  const at::Tensor images = hashed_fill("images", reference.sizes, 0.0, 1.0).to(type);
  const std::vector<at::Tensor> outputs = all_outputs(*network, images);
  REQUIRE(outputs.size() == reference.outputs.size());
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    const std::vector<double> values = seen(outputs[index]);
    for (std::size_t item = 0; item < values.size(); ++item) {
      CAPTURE(index);
      CAPTURE(item);
      // Sums of n values: the tolerance is of each.
      const double terms = item < 2 ? static_cast<double>(outputs[index].numel()) : 1.0;
      CHECK(std::abs(values[item] - reference.outputs[index][item]) < tolerance * terms);
    }
  }
  CHECK(at::equal(network->forward(images), outputs.front()));
}

std::string listing(const Network& network) {
  std::ostringstream lines;
  for (const NamedTensor& item : network.parameters()) {
    lines << item.name;
    for (const std::int64_t side : item.tensor.sizes())
      lines << ' ' << side;
    lines << '\n';
  }
  return lines.str();
}

std::int64_t count_below(const Network& network, const std::string& prefix) {
  std::int64_t count = 0;
  for (const NamedTensor& item : network.parameters())
    if (item.name.starts_with(prefix)) count += item.tensor.numel();
  return count;
}

}  // namespace

TEST_CASE("names, sizes and order of parameters are nnU-Net's") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    const auto network = make_nnunet(reference.residual, reference.options);
    const std::string lines = listing(*network);
    CAPTURE(lines);
    CHECK(hashed(lines) == reference.listing);
    CHECK(network->buffers().empty());
  }
}

TEST_CASE("logits and deep outputs are nnU-Net's") {
  for (const Reference& reference : references) {
    check_outputs(reference, at::kDouble, 1e-9);
    check_outputs(reference, at::kFloat, 1e-4);
  }
}

TEST_CASE("gradients are nnU-Net's") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    const auto network = make_nnunet(reference.residual, reference.options);
    fill_as_script(*network, at::kDouble);
    at::Tensor loss = at::zeros({}, at::kDouble);
    std::size_t index = 0;
    for (const at::Tensor& output :
         all_outputs(*network, hashed_fill("images", reference.sizes, 0.0, 1.0)))
      loss = loss +
             (output * hashed_fill("target." + std::to_string(index++), output.sizes(), 0.0, 1.0))
                 .mean();
    loss.backward();
    std::map<std::string, at::Tensor> gradients;
    for (const NamedTensor& item : network->parameters())
      gradients[item.name] = item.tensor.grad();
    for (const auto& [name, norm] : reference.gradients) {
      CAPTURE(name);
      REQUIRE(gradients[name].defined());
      CHECK(gradients[name].norm().item<double>() == Approx(norm).epsilon(1e-9));
    }
  }
}

TEST_CASE("parameter counts are nnU-Net's") {
  for (const Count& count : counts) {
    CAPTURE(count.residual);
    CAPTURE(count.dims);
    const auto network =
        make_nnunet(count.residual, {.dims = count.dims, .features_per_stage = count.features});
    CHECK(parameter_count(*network) == count.total);
    for (std::size_t stage = 0; stage < count.encoder_stages.size(); ++stage)
      CHECK(count_below(*network, "encoder.stages." + std::to_string(stage) + '.') ==
            count.encoder_stages[stage]);
  }
}

TEST_CASE("PlainConvUNet in 3D has the published parameter counts") {
  const std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> published = {
      {{16, 32, 64, 128}, 1'402'182},
      {{32, 64, 128, 256}, 5'602'950},
      {{32, 64, 128, 256, 320}, 16'547'592},
      {{64, 128, 256, 512}, 22'400'262},
      {{32, 64, 128, 256, 320, 320}, 31'195'594}};
  for (const auto& [features, count] : published)
    CHECK(parameter_count(*make_plain_conv_unet({.features_per_stage = features})) == count);

  const auto network = make_plain_conv_unet();
  const std::vector<std::int64_t> decoder = {9'116'482, 5'966'082, 1'590'402, 397'890, 99'618};
  for (std::size_t stage = 0; stage < decoder.size(); ++stage) {
    const std::string number = std::to_string(stage) + '.';
    CHECK(count_below(*network, "decoder.stages." + number) +
              count_below(*network, "decoder.transpconvs." + number) +
              count_below(*network, "decoder.seg_layers." + number) ==
          decoder[stage]);
  }
}

TEST_CASE("every name of a checkpoint of nnU-Net leads to one of ours") {
  const NnUNetOptions options{.dims = 2,
                              .in_channels = 1,
                              .features_per_stage = {2, 3},
                              .n_blocks_per_stage = {1, 1},
                              .n_conv_per_stage_decoder = {1}};
  std::set<std::string> ours;
  for (const bool residual : {false, true})
    for (const NamedTensor& item : make_nnunet(residual, options)->parameters()) {
      CHECK(canonical_nnunet_name(item.name) == item.name);
      ours.insert(item.name);
    }
  std::set<std::string> theirs;
  for (const char* key : checkpoint_keys)
    theirs.insert(canonical_nnunet_name(key));
  CHECK(ours == theirs);
  CHECK(canonical_nnunet_name("decoder.encoder.stem.convs.0.all_modules.1.bias") ==
        "encoder.stem.convs.0.norm.bias");
  CHECK(canonical_nnunet_name("decoder.stages.1.convs.0.all_modules.2.bias") ==
        "decoder.stages.1.convs.0.all_modules.2.bias");
}

TEST_CASE("without deep supervision there is one output, of the same parameters") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    NnUNetOptions options = reference.options;
    const auto with = make_nnunet(reference.residual, options);
    options.deep_supervision = false;
    const auto without = make_nnunet(reference.residual, options);
    CHECK(listing(*with) == listing(*without));
    fill_as_script(*with, at::kDouble);
    fill_as_script(*without, at::kDouble);
    const at::Tensor images = hashed_fill("images", reference.sizes, 0.0, 1.0);
    const Output output = without->outputs(images);
    CHECK(output.deep.empty());
    CHECK(at::equal(output.main, with->outputs(images).main));
  }
}

TEST_CASE("weights start as nnU-Net starts them") {
  at::manual_seed(21);
  const NnUNetOptions options{.dims = 2, .features_per_stage = {64, 128}};
  for (const bool residual : {false, true}) {
    CAPTURE(residual);
    for (const NamedTensor& item : make_nnunet(residual, options)->parameters()) {
      CAPTURE(item.name);
      if (item.tensor.numel() > 10'000) {
        const double fan_in = static_cast<double>(item.tensor[0].numel());
        CHECK(item.tensor.std().item<double>() ==
              Approx(std::sqrt(2.0 / (1.0 + 1e-4) / fan_in)).epsilon(.02));
      }
      const bool block_end = ends_with(item.name, "conv2.norm.weight");
      if (ends_with(item.name, "norm.weight"))
        CHECK(at::all(item.tensor == (block_end ? 0.0 : 1.0)).item<bool>());
      if (ends_with(item.name, "bias")) CHECK(at::all(item.tensor == 0.0).item<bool>());
    }
  }
}

TEST_CASE("the channels-last layout and bfloat16 stay near the same logits") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    const auto network = make_nnunet(reference.residual, reference.options);
    fill_as_script(*network, at::kFloat);
    const at::Tensor images = hashed_fill("images", reference.sizes, 0.0, 1.0).to(at::kFloat);
    const at::Tensor logits = network->forward(images);
    const double scale = logits.abs().mean().item<double>();
    network->move_to(at::kCPU, true);
    if (images.dim() == 4)
      CHECK(at::allclose(network->forward(images.contiguous(at::MemoryFormat::ChannelsLast)),
                         logits, 1e-4, 1e-4));
    const LoweredConvolutions autocast;
    const at::Tensor lowered = network->forward(images);
    CHECK((lowered.scalar_type() == at::kBFloat16));
    CHECK((lowered - logits).abs().mean().item<double>() < .05 * scale);
    lowered.sum().backward();
    CHECK(at::isfinite(network->parameters().front().tensor.grad()).all().item<bool>());
  }
}

TEST_CASE("a step of training reads nothing back from the device") {
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    MetaNetwork network(make_nnunet(reference.residual, reference.options), /*lowered=*/false);
    at::Tensor loss;
    for (const at::Tensor& output :
         all_outputs(network, at::empty(reference.sizes, at::device(at::kMeta))))
      loss = loss.defined() ? loss + output.mean() : output.mean();
    loss.backward();
    for (const NamedTensor& item : network.parameters()) {
      CAPTURE(item.name);
      CHECK(item.tensor.grad().defined());
    }
  }
}
