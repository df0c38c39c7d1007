// Files of weights and networks that do not fit are refused before the first step.
#include <headrace/models/networks/named_network.h>
#include <headrace/tests/apps/classification/picture_script.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/checkpoint/safetensors.h>

#include "../../support/torch_doctest.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <caffe2/serialize/inline_container.h>

using namespace headrace;
using namespace headrace::test;
using training::TensorMap;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TensorMap weights_of(const models::NetworkOptions& options) {
  return training::snapshot(*models::make_network(options));
}

TensorMap changed(TensorMap weights, const std::function<void(TensorMap&)>& change) {
  change(weights);
  return weights;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The network that the configuration asks for.
const models::NetworkOptions small_network{.name = "resnet18", .classes = 2, .width = 0.25};

void write_weight_files(const fs::path& folder) {
  const TensorMap right = weights_of(small_network);
  const auto write = [&](const char* name, TensorMap tensors) {
    training::write_safetensors(folder / name, {.tensors = std::move(tensors)});
  };
  write("right.safetensors", right);
  write("half.safetensors", weights_of({.name = "resnet18", .classes = 2, .width = 0.5}));
  write("wide.safetensors", weights_of({.name = "resnet18"}));
  write("cnn.safetensors", weights_of({.name = "efficient_glaucoma_cnn", .classes = 2}));
  write("head7.safetensors", weights_of({.name = "resnet18", .classes = 7, .width = 0.25}));
  write("integer.safetensors",
        changed(right, [](TensorMap& all) { all["bn1.bias"] = all["bn1.bias"].to(at::kChar); }));
  write("kernel.safetensors", changed(right, [](TensorMap& all) {
          all["conv1.weight"] = at::ones({16, 5, 3, 3});
        }));
  write("middle.safetensors", changed(right, [](TensorMap& all) {
          all["layer2.0.conv1.weight"] = at::ones({32, 16, 1, 1});
        }));
  write("lacking.safetensors",
        changed(right, [](TensorMap& all) { all.erase("layer3.1.bn2.running_mean"); }));
  write("more.safetensors",
        changed(right, [](TensorMap& all) { all.emplace("ema.decay", at::ones({1})); }));
  write("nan.safetensors", changed(right, [](TensorMap& all) {
          all["layer4.0.bn1.weight"][2] = std::numeric_limits<float>::quiet_NaN();
        }));

  const std::string whole = content_of(folder / "right.safetensors");
  write_text(folder / "empty.safetensors", "");
  write_text(folder / "header.safetensors", whole.substr(0, 400));
  write_text(folder / "cut.safetensors", whole.substr(0, whole.size() - 100));
  write_text(folder / "long.safetensors",
             std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{", 9) + whole.substr(9));
  std::string dtype = whole;
  dtype.replace(dtype.find("F32"), 3, "F99");
  write_text(folder / "dtype.safetensors", dtype);
  write_text(folder / "words.safetensors", "no weights at all, but words");
  write_text(folder / "old.pth", "\x80\x02" + std::string(200, 'x'));
  write_text(folder / "zip.pt", "PK\x03\x04" + std::string(200, 'x'));
  write_text(folder / "pointer.safetensors", "version https://git-lfs.github.com/spec/v1\n");
  fs::create_directory(folder / "folder.safetensors");
}

void write_scripts(const fs::path& folder) {
  const auto save = [&](const char* name, const torch::jit::Module& net) {
    net.save((folder / name).string());
  };
  save("net.pt", picture_script(2));
  save("seven.pt", picture_script(7));
  torch::jit::Module evaluated = picture_script(2);
  evaluated.eval();
  save("frozen.pt", torch::jit::freeze(evaluated));
  torch::jit::Module half = picture_script(2);
  half.to(at::kHalf);
  save("half.pt", half);
  torch::jit::Module grey("net");
  grey.register_parameter("stem", at::randn({2, 1, 3, 3}).requires_grad_(), false);
  grey.define("def forward(self, x):\n    return torch.conv2d(x, self.stem).mean([2, 3])\n");
  save("grey.pt", grey);
  torch::jit::Module maps("net");
  maps.register_parameter("stem", at::randn({2, 3, 3, 3}).requires_grad_(), false);
  maps.define("def forward(self, x):\n    return torch.conv2d(x, self.stem)\n");
  save("maps.pt", maps);
  picture_script(2).save((folder / "other_names.pt").string(), {{"state_names", "stem\nneck"}});
  caffe2::serialize::PyTorchStreamWriter exported((folder / "exported.pt2").string());
  exported.writeRecord("archive_format", "pt2", 3);
  exported.writeEndOfFile();
  write_text(folder / "cut.pt", content_of(folder / "net.pt").substr(0, 300));
}

struct Wrong {
  Words settings;
  Words said;  // by the sentence
};

// Network by name of a quarter's width, beside the settings.
Words by_name(Words settings) {
  settings.emplace_back("model.width=0.25");
  return settings;
}

void check_refused(const TrainingFolder& folder, const std::vector<Wrong>& all) {
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.settings.front());
    const Finished finished = folder.run(TrainingFolder::train(wrong.settings));
    CHECK(finished.status != 0);
    for (const std::string& part : wrong.said)
      CHECK_MESSAGE(contains(finished.err, part), finished.err);
    CHECK_FALSE(fs::exists(folder.path() / "runs"));  // nothing was begun
  }
}

// Pictures of two classes.
class Pictures : public TrainingFolder {
 public:
  Pictures()
      : TrainingFolder(
            "kind: classification\ndevice: cpu\nimage: {size: 32}\nthreads: {torch: 1}\n"
            "data: {train: {source: images, folder: pictures}, listings: \"\"}\n"
            "training: {epochs: 2, batch: 4}\nmemory: {measure: false}\n") {
    write_png_pictures(path() / "pictures", 20);
  }
};

}  // namespace

TEST_CASE("weights that do not fit are refused before the first step, with what came") {
  const Pictures folder;
  write_weight_files(folder.path());
  const auto file = [](const std::string& name, Words said) {
    said.push_back("model.weights: " + name);
    return Wrong{by_name({"model.weights=" + name}), std::move(said)};
  };
  check_refused(
      folder,
      {{by_name({"model.weights=rihgt.safetensors"}),
        {"model.weights must be a file", "nothing is called rihgt.safetensors",
         "did you mean right.safetensors?"}},
       {by_name({"model.weights=folder.safetensors"}),
        {"model.weights must be a file, got the folder folder.safetensors"}},
       file("empty.safetensors", {"at least 8 bytes, got 0"}),
       file("words.safetensors", {"a header of"}),
       file("header.safetensors", {"is more than the file (400)"}),
       file("long.safetensors", {"is more than the file"}),
       file("cut.safetensors", {"safetensors"}),
       file("dtype.safetensors", {"has the unknown dtype \"F99\""}),
       file("old.pth", {"this is a pickle", "old.safetensors\")"}),
       file("zip.pt", {"torch.load(\"zip.pt\"", "weights_only=True"}),
       file("pointer.safetensors", {"git lfs pull"}),
       file("integer.safetensors", {"\"bn1.bias\" must be of a dtype like Float, got Char"}),
       file("nan.safetensors", {"\"layer4.0.bn1.weight\" holds values that are not finite"}),
       file("middle.safetensors",
            {"1 of another shape (\"layer2.0.conv1.weight\" [32, 16, 1, 1] for [32, 16, 3, 3])"}),
       file("kernel.safetensors", {"\"conv1.weight\" [16, 5, 3, 3] for [16, 3, 7, 7]"}),
       file("lacking.safetensors", {"1 missing (\"layer3.1.bn2.running_mean\")"}),
       file("more.safetensors", {"1 unexpected (\"ema.decay\")"}),
       file("half.safetensors", {"of another shape (\"conv1.weight\" [32, 3, 7, 7]"}),
       file("wide.safetensors", {"these are weights of \"resnet18\", width 1"}),
       file("cnn.safetensors", {"these are weights of \"efficient_glaucoma_cnn\""}),
       {by_name({"model.in_channels=4", "model.weights=right.safetensors"}),
        {"model.in_channels must be 3, the channels of the data, got 4"}},
       {by_name({"model.frozen=[layr4]", "model.weights=right.safetensors"}),
        {"model.frozen \"layr4\"", "did you mean \"layer4\"?"}},
       {by_name({"model.frozen=[layer3.1.convv2]", "model.weights=right.safetensors"}),
        {"did you mean \"layer3.1.conv2\"?"}},
       {by_name({"model.frozen=[fc]", "model.weights=head7.safetensors"}),
        {"model.frozen \"fc\": head7.safetensors does not give fc.weight, fc.bias",
         "model.allow_random_frozen: true"}},
       {by_name({"model.frozen=[\"\"]", "model.weights=right.safetensors"}),
        {"frozen must leave a parameter to train"}},
       {by_name({"model.frozen=[layer1]"}), {"give model.weights"}}});
}

TEST_CASE("weights of another encoder, and a frozen decoder that no file gives, are refused") {
  const TrainingFolder folder(
      "kind: segmentation\ndevice: cpu\nimage: {size: 32}\nthreads: {torch: 1}\n"
      "data: {train: {source: pairs, folder: pictures, masks: masks}, listings: \"\"}\n"
      "mask: {classes: [{name: ground}, {name: square}]}\nmodel: {name: unet, encoder: resnet34}\n"
      "training: {epochs: 2, batch: 4}\n");
  write_png_pictures(folder.path() / "pictures", 20);
  write_png_pictures(folder.path() / "masks", 20);  // are not read before the first step
  training::write_safetensors(folder.path() / "resnet18.safetensors",
                              {.tensors = weights_of({.name = "resnet18"})});
  check_refused(
      folder,
      {{{"model.weights=resnet18.safetensors"},
        {"model.weights: resnet18.safetensors", "these are weights of \"resnet18\""}},
       {{"model.encoder=resnet81"}, {"model.encoder must be one of resnet34"}},
       {{"model.encoder=resnet81"}, {"did you mean \"resnet18\"?"}},
       {{"model.encoder=resnet18", "model.weights=resnet18.safetensors", "model.frozen=[decoder]"},
        {"model.frozen \"decoder\": resnet18.safetensors does not give decoder.blocks.0",
         " more, which would keep random values", "model.allow_random_frozen: true"}}});
}

TEST_CASE("files that hold no network to train are refused before the first step") {
  const Pictures folder;
  write_weight_files(folder.path());
  write_scripts(folder.path());
  const auto file = [](const std::string& name, Words said) {
    said.push_back(name);
    return Wrong{{"model.torchscript=" + name}, std::move(said)};
  };
  check_refused(
      folder,
      {file("gone.pt", {"there is no such file"}),
       file("right.safetensors", {"is a safetensors file, which holds weights and no network"}),
       file("old.pth", {"is a pickle of torch.save in its old format"}),
       file("frozen.pt", {"must have parameters, got none"}),
       file("half.pt", {"must be float32 or float64, got Half"}),
       file("exported.pt2", {"is a .pt2 archive of torch.export"}),
       file("cut.pt", {"is damaged, cut off or no TorchScript"}),
       file("other_names.pt", {"state_names must be that of the same network", "\"neck\""}),
       file("seven.pt", {"model.torchscript seven.pt: must have an output for each of 2 classes",
                         "got 7; script it with num_classes=2"}),
       file("maps.pt", {"must give one value for each picture and class, got 30 x 30"}),
       file("grey.pt", {"a forward pass of Float [2, 3, 32, 32] on cpu in training mode fails"}),
       {{"model.torchscript=net.pt", "model.name=resnet18"},
        {"not used unless model.torchscript is empty"}},
       {{"model.torchscript=net.pt", "model.non_persistent=[positon]"},
        {"non_persistent must name buffers of the script, got \"positon\""}},
       {{"model.torchscript=net.pt", "model.frozen=[stam]"}, {"did you mean \"stem\"?"}},
       {by_name({"model.weights=net.pt"}),
        {"model.weights: net.pt", "this is a network from TorchScript"}}});
}

TEST_CASE("weights for a frozen part are kept as they are read, under wrappers' names, too") {
  const Pictures folder;
  TensorMap wrapped;
  const TensorMap right = weights_of(small_network);
  for (const auto& [name, tensor] : right)
    wrapped.emplace("module." + name, tensor);
  training::write_safetensors(folder.path() / "wrapped.safetensors", {.tensors = wrapped});
  const Finished finished = folder.run(TrainingFolder::train(
      by_name({"model.weights=wrapped.safetensors", "model.frozen=[layer1]"})));
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(contains(finished.err, "122 tensors loaded; names taken without \"module.\""));
  const TensorMap now =
      training::read_safetensors(folder.only_run() / "checkpoints/run/best.safetensors").tensors;
  CHECK(at::equal(now.at("layer1.0.conv1.weight"), right.at("layer1.0.conv1.weight")));
  CHECK_FALSE(at::equal(now.at("layer2.0.conv1.weight"), right.at("layer2.0.conv1.weight")));
}
