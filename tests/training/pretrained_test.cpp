#include <headrace/models/networks/named_network.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/checkpoint/pretrained.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/errors.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include <ATen/Functions.h>

using namespace headrace::training;
using doctest::Contains;
using headrace::models::make_network;
using headrace::models::Network;
using headrace::models::network_traits;
using headrace::models::NetworkOptions;

namespace {

constexpr const char* who = "[weights] w";

const NetworkOptions small_resnet{.name = "resnet18", .classes = 4, .width = .125};
const NetworkOptions small_unet{.name = "unet", .classes = 2, .width = .125, .encoder = "resnet18"};

TensorMap weights_of(const NetworkOptions& options) {
  return snapshot(*make_network(options));
}

LoadedWeights load(Network& network, const NetworkOptions& options, const TensorMap& weights) {
  return load_pretrained(network, weights, network_traits(options).weights, who);
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string refusal(const NetworkOptions& options, const TensorMap& weights) {
  const auto network = make_network(options);
  const TensorMap before = snapshot(*network);
  try {
    load(*network, options, weights);
  } catch (const CheckpointError& error) {
    for (const auto& [name, tensor] : snapshot(*network))
      CHECK(at::equal(tensor, before.at(name)));
    return error.what();
  }
  return "";
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("weights of the same network all come in, also in halves and without counters") {
  TensorMap weights = weights_of(small_resnet);
  for (auto& [name, tensor] : weights)
    if (tensor.is_floating_point()) tensor = tensor.to(at::kHalf);
  std::erase_if(weights, [](const auto& item) { return item.first.ends_with("_tracked"); });
  const auto network = make_network(small_resnet);
  const LoadedWeights loaded = load(*network, small_resnet, weights);
  CHECK(loaded.loaded.size() == weights.size());
  CHECK(loaded.fresh.empty());
  CHECK(loaded.left_out.empty());
  const TensorMap now = snapshot(*network);
  for (const auto& [name, tensor] : weights)
    CHECK(at::equal(now.at(name), tensor.to(at::kFloat)));
}

TEST_CASE("a head of another class count stays as it was, and so does one that is not there") {
  NetworkOptions other = small_resnet;
  other.classes = 7;
  TensorMap weights = weights_of(other);
  weights.emplace("fc.scale", at::ones({1}));
  const auto network = make_network(small_resnet);
  const TensorMap before = snapshot(*network);
  LoadedWeights loaded = load(*network, small_resnet, weights);
  CHECK((loaded.fresh == std::vector<std::string>{"fc.weight", "fc.bias"}));
  CHECK((loaded.left_out == std::vector<std::string>{"fc.weight", "fc.bias", "fc.scale"}));
  CHECK_FALSE(holds(loaded.loaded, "fc.weight"));
  const TensorMap now = snapshot(*network);
  CHECK(at::equal(now.at("fc.weight"), before.at("fc.weight")));
  CHECK(at::equal(now.at("layer1.0.conv1.weight"), weights.at("layer1.0.conv1.weight")));
  CHECK(summary(loaded) ==
        "120 tensors loaded; 2 new: fc.weight, fc.bias; left out of the file: fc.weight, fc.bias, "
        "fc.scale");

  weights.erase("fc.weight");
  weights.erase("fc.bias");
  weights.erase("fc.scale");
  loaded = load(*network, small_resnet, weights);
  CHECK((loaded.fresh == std::vector<std::string>{"fc.weight", "fc.bias"}));
  CHECK(loaded.left_out.empty());
}

TEST_CASE("weights of an EdgeNeXt come in by timm's names, for other classes and channels, too") {
  const headrace::test::TemporaryFolder folder;
  const auto path = folder / "edgenext.safetensors";
  const TensorMap weights = weights_of({.name = "edgenext_xx_small", .classes = 7});
  write_safetensors(path, {.tensors = weights});
  const NetworkOptions options{.name = "edgenext_xx_small", .in_channels = 1, .classes = 3};
  const auto network = make_network(options);
  const LoadedWeights loaded = load(*network, options, read_safetensors(path).tensors);
  CHECK((loaded.fresh == std::vector<std::string>{"head.fc.weight", "head.fc.bias"}));
  const TensorMap now = snapshot(*network);
  for (const char* name : {"stages.1.blocks.1.xca.temperature", "head.norm.weight", "stem.0.bias"})
    CHECK(at::equal(now.at(name), weights.at(name)));
  CHECK(at::allclose(now.at("stem.0.weight"), weights.at("stem.0.weight").sum(1, true)));
  CHECK(refusal({.name = "edgenext_x_small", .classes = 3}, weights)
            .find("these are weights of \"edgenext_xx_small\", width 1") != std::string::npos);
}

TEST_CASE("weights of an EdgeNeXt go into the backbone of a network around it") {
  const TensorMap weights = weights_of({.name = "edgenext_xx_small", .classes = 7});
  for (const char* name : {"camoxpert", "camoxpert_lean"}) {
    CAPTURE(name);
    const NetworkOptions options{.name = name, .classes = 1, .encoder = "edgenext_xx_small"};
    const auto network = make_network(options);
    const LoadedWeights loaded = load(*network, options, weights);
    CHECK(loaded.left_out.size() == 4);  // the classifier's norm and last layer
    CHECK_FALSE(loaded.loaded.empty());
    CHECK(std::ranges::none_of(
        loaded.fresh, [](const std::string& one) { return one.starts_with("backbone."); }));
    const TensorMap now = snapshot(*network);
    for (const char* tensor : {"stages.1.blocks.1.xca.temperature", "stem.0.weight"})
      CHECK(at::equal(now.at(std::string("backbone.") + tensor), weights.at(tensor)));
  }
}

TEST_CASE("weights with one linear layer go below a head of hidden layers, which stays as it was") {
  NetworkOptions options = small_resnet;
  options.head = {.hidden = {16, 8}};
  const auto network = make_network(options);
  const TensorMap before = snapshot(*network);
  const LoadedWeights loaded = load(*network, options, weights_of(small_resnet));
  CHECK((loaded.left_out == std::vector<std::string>{"fc.bias", "fc.weight"}));
  CHECK(loaded.loaded.size() == 120);
  CHECK(loaded.fresh.size() == 16);  // three linear layers, two norms of five tensors
  CHECK(at::equal(snapshot(*network).at("fc.5.weight"), before.at("fc.5.weight")));
  const LoadedWeights back = load(*make_network(small_resnet), small_resnet, before);
  CHECK((back.fresh == std::vector<std::string>{"fc.weight", "fc.bias"}));
  CHECK(load(*network, options, before).fresh.empty());
}

TEST_CASE("weights of the two SE-ResNeXts do not go into each other, whose pooling differs") {
  const NetworkOptions present{.name = "seresnext50_32x4d", .classes = 9};
  const NetworkOptions legacy{.name = "legacy_seresnext50_32x4d", .classes = 9};
  const std::string text = refusal(present, weights_of(legacy));
  CHECK_MESSAGE(text.find("these are weights of \"legacy_seresnext50_32x4d\"") != std::string::npos,
                text);
  const std::string other = refusal(legacy, weights_of(present));
  CHECK_MESSAGE(other.find("these are weights of \"seresnext50_32x4d\"") != std::string::npos,
                other);
}

TEST_CASE("a first convolution is adapted to other channels as timm does") {
  const TensorMap weights = weights_of(small_resnet);
  const at::Tensor rgb = weights.at("conv1.weight");
  const auto adapted = [&](std::int64_t channels) {
    NetworkOptions options = small_resnet;
    options.in_channels = channels;
    const auto network = make_network(options);
    const LoadedWeights loaded = load(*network, options, weights);
    CHECK(loaded.adapted == "conv1.weight");
    CHECK(holds(loaded.loaded, "conv1.weight"));
    return snapshot(*network).at("conv1.weight");
  };
  CHECK(at::allclose(adapted(1), rgb.sum(1, true)));
  CHECK(at::allclose(adapted(2), rgb.narrow(1, 0, 2) * 1.5));
  CHECK(at::allclose(adapted(5), at::cat({rgb, rgb.narrow(1, 0, 2)}, 1) * .6));
}

TEST_CASE("an encoder's weights go into the encoder of a U-Net") {
  const TensorMap weights = weights_of(small_resnet);
  const auto network = make_network(small_unet);
  const TensorMap before = snapshot(*network);
  const LoadedWeights loaded = load(*network, small_unet, weights);
  CHECK(loaded.loaded.size() == weights.size() - 2);
  CHECK((loaded.left_out == std::vector<std::string>{"fc.bias", "fc.weight"}));
  CHECK(holds(loaded.fresh, "decoder.blocks.0.conv1.0.weight"));
  CHECK(holds(loaded.fresh, "segmentation_head.0.weight"));
  CHECK(loaded.loaded.size() + loaded.fresh.size() == before.size());
  const TensorMap now = snapshot(*network);
  CHECK(at::equal(now.at("encoder.layer4.1.conv2.weight"), weights.at("layer4.1.conv2.weight")));
  CHECK(at::equal(now.at("decoder.blocks.4.conv2.0.weight"),
                  before.at("decoder.blocks.4.conv2.0.weight")));
}

TEST_CASE("a whole U-Net comes in with its decoder, but for a head of other classes") {
  NetworkOptions other = small_unet;
  other.classes = 5;
  const auto network = make_network(small_unet);
  const LoadedWeights loaded = load(*network, small_unet, weights_of(other));
  CHECK((loaded.fresh ==
         std::vector<std::string>{"segmentation_head.0.weight", "segmentation_head.0.bias"}));
  CHECK(holds(loaded.loaded, "decoder.blocks.0.conv1.0.weight"));
}

TEST_CASE("names by which a file calls a tensor twice are made one") {
  TensorMap weights;
  for (const auto& [name, tensor] : weights_of(small_resnet)) {
    weights.emplace("model." + name, tensor);
    weights.emplace("again." + name, tensor);
  }
  const auto network = make_network(small_resnet);
  const LoadedWeights loaded = load_pretrained(
      *network, weights,
      {.head = "fc.",
       .canonical = [](std::string_view name) { return std::string(name.substr(6)); }},
      who);
  CHECK(loaded.loaded.size() == 122);
}

TEST_CASE("what wrappers put before every name is passed over, and said") {
  for (const std::string prefix : {"module.", "model.", "module._orig_mod."}) {
    CAPTURE(prefix);
    TensorMap weights;
    for (const auto& [name, tensor] : weights_of(small_resnet))
      weights.emplace(prefix + name, tensor);
    const auto network = make_network(small_resnet);
    const LoadedWeights loaded = load(*network, small_resnet, weights);
    CHECK(loaded.loaded.size() == 122);
    CHECK(summary(loaded) == "122 tensors loaded; names taken without \"" + prefix + '"');
    const auto unet = make_network(small_unet);
    CHECK(load(*unet, small_unet, weights).left_out.size() == 2);

    weights.emplace("other", at::ones({1}));
    CHECK(refusal(small_resnet, weights).find("123 unexpected") != std::string::npos);
  }
}

TEST_CASE("what is missing, unexpected and of another shape is listed with its count") {
  TensorMap weights = weights_of(small_resnet);
  weights.erase("bn1.weight");
  weights.erase("layer1.0.conv1.weight");
  weights.emplace("layer5.weight", at::ones({1}));
  weights["layer1.0.conv2.weight"] = at::ones({8, 8, 5, 5});
  const std::string text = refusal(small_resnet, weights);
  for (const char* part :
       {"[weights] w: ", "2 missing (\"bn1.weight\", \"layer1.0.conv1.weight\")",
        "1 unexpected (\"layer5.weight\")",
        "1 of another shape (\"layer1.0.conv2.weight\" [8, 8, 5, 5] for [8, 8, 3, 3])"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  CHECK(text.find("these are weights of") == std::string::npos);
}

TEST_CASE("weights of another network are told by its name, and lists end") {
  const std::string text =
      refusal({.name = "resnet34", .classes = 4}, weights_of({.name = "resnet18", .classes = 9}));
  CHECK_MESSAGE(text.find(" 80 missing (") != std::string::npos, text);
  CHECK_MESSAGE(text.find("these are weights of \"resnet18\", width 1") != std::string::npos, text);
  CHECK_MESSAGE(text.find(" more)") != std::string::npos, text);
  CHECK(text.size() < 1000);
  const std::string unet = refusal({.name = "resnet18"}, weights_of({.name = "unet"}));
  CHECK_MESSAGE(
      unet.find("these are weights of \"unet\" with the encoder \"resnet34\"") != std::string::npos,
      unet);
}

TEST_CASE("values that are not finite or no floating numbers are refused") {
  TensorMap weights = weights_of(small_resnet);
  weights.at("layer2.0.bn1.running_var")[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(refusal(small_resnet, weights) ==
        "[weights] w: \"layer2.0.bn1.running_var\" holds values that are not finite");
  weights = weights_of(small_resnet);
  weights["bn1.bias"] = at::full({8}, 1e300, at::kDouble);
  CHECK(refusal(small_resnet, weights) ==
        "[weights] w: \"bn1.bias\" holds values that are not finite");
  weights["bn1.bias"] = at::ones({8}, at::kChar);
  CHECK(refusal(small_resnet, weights) ==
        "[weights] w: \"bn1.bias\" must be of a dtype like Float, got Char");
}

TEST_CASE("a file of ours and a safetensors file of anyone load the same way") {
  const headrace::test::TemporaryFolder folder;
  const TensorMap weights = weights_of(small_resnet);
  write_best_weights(folder / "best.safetensors",
                     {.weights = weights, .epoch = 3, .selected_by = "loss"});
  write_safetensors(folder / "timm.safetensors",
                    {.tensors = weights, .metadata = {{"format", "pt"}}});
  for (const char* name : {"best.safetensors", "timm.safetensors"}) {
    const auto network = make_network(small_resnet);
    const LoadedWeights loaded =
        load_pretrained(*network, folder / name, network_traits(small_resnet).weights);
    CHECK(loaded.loaded.size() == weights.size());
    CHECK(at::equal(snapshot(*network).at("fc.weight"), weights.at("fc.weight")));
  }
}

TEST_CASE("heads that a network may do without begin anew, or are left out") {
  const auto lean = [](std::int64_t classes, bool deep) {
    return NetworkOptions{.name = "camoxpert_lean",
                          .classes = classes,
                          .width = 0.25,
                          .mixture = {.deep_supervision = deep}};
  };
  const auto loaded = [&](const NetworkOptions& from, const NetworkOptions& to) {
    const auto network = make_network(to);
    return load(*network, to, weights_of(from));
  };
  CHECK(loaded(lean(1, true), lean(1, false)).fresh.empty());
  const auto sides = [](const LoadedWeights& all) {
    return std::ranges::count_if(all.fresh,
                                 [](const std::string& name) { return name.starts_with("side."); });
  };
  const LoadedWeights deeper = loaded(lean(1, false), lean(1, true));
  CHECK(sides(deeper) == 6);
  CHECK(deeper.fresh.size() == 6);
  const LoadedWeights wider = loaded(lean(1, true), lean(2, true));
  CHECK(sides(wider) == 6);
  CHECK(wider.fresh.size() == 8);  // and the head
}

TEST_CASE("files that are no safetensors are refused with the way out") {
  const headrace::test::TemporaryFolder folder;
  write_text(folder / "zip.pth", "PK\x03\x04" + std::string(200, 'x'));
  CHECK_THROWS_WITH_AS(read_weights(folder / "zip.pth"), Contains("weights_only=True"),
                       CheckpointError);
  CHECK_THROWS_WITH_AS(read_weights(folder / "zip.pth"), Contains("zip.safetensors\")"),
                       CheckpointError);
  write_text(folder / "old.bin", "\x80\x02" + std::string(200, 'x'));
  CHECK_THROWS_WITH_AS(read_weights(folder / "old.bin"), Contains("pickle"), CheckpointError);
  write_text(folder / "pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  CHECK_THROWS_WITH_AS(read_weights(folder / "pointer"), Contains("git lfs pull"), CheckpointError);
  write_text(folder / "empty", "");
  CHECK_THROWS_WITH_AS(read_weights(folder / "empty"), Contains("at least 8 bytes, got 0"),
                       CheckpointError);
  CHECK_THROWS_WITH_AS(read_weights(folder / "none"), Contains("none"), CheckpointError);
}
