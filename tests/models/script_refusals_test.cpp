// What read_script_network refuses, and by which sentence.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>
#include <headrace/models/networks/script_network.h>
#include <headrace/tests/models/script_modules.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/torch_python.h>

#include "../support/torch_doctest.h"

#include <filesystem>
#include <fstream>
#include <string>

using namespace headrace::models;
using namespace headrace::test;

namespace {

// The whole message, without the file's name.
doctest::String refusal_of(const std::filesystem::path& path) {
  try {
    read_script_network(path);
  } catch (const headrace::ConfigError& error) {
    const std::string begin = "[torchscript] " + path.string() + ": ";
    const std::string message = error.what();
    return message.starts_with(begin) ? message.substr(begin.size()).c_str() : "unnamed";
  }
  return "accepted";
}

doctest::String refusal_of_bytes(const std::string& bytes) {
  const TemporaryFolder folder;
  std::ofstream(folder / "net.pt", std::ios::binary) << bytes;
  return refusal_of(folder / "net.pt");
}

doctest::String refusal_of_module(const torch::jit::Module& module) {
  const TemporaryFolder folder;
  module.save((folder / "net.pt").string());
  return refusal_of(folder / "net.pt");
}

const doctest::Contains way_out("torch.jit.script(net)");

}  // namespace

TEST_CASE("files that are no TorchScript are refused by what they are") {
  const TemporaryFolder folder;
  CHECK(refusal_of(folder / "none.pt") == doctest::Contains("there is no such file"));
  CHECK(refusal_of(folder.path()) == doctest::Contains("must be a file, got a folder"));
  CHECK(refusal_of_bytes("") == doctest::Contains("the file is empty"));
  CHECK(refusal_of_bytes("weights") == doctest::Contains("is no TorchScript file"));
  CHECK(refusal_of_bytes(std::string("\x40\0\0\0\0\0\0\0{\"a\":", 13)) ==
        doctest::Contains("is a safetensors file, which holds weights and no network"));
  CHECK(refusal_of_bytes("\x80\x02}q") ==
        doctest::Contains("is a pickle of torch.save in its old"));
  for (const char* bytes : {"", "weights", "\x80\x02}q"})
    CHECK(refusal_of_bytes(bytes) == way_out);
}

TEST_CASE("a TorchScript file that is cut off or damaged is refused") {
  const TemporaryFolder folder;
  script_module(linear).save((folder / "net.pt").string());
  const std::string whole = content_of(folder / "net.pt");
  for (const std::size_t size : {std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(size);
    CHECK(refusal_of_bytes(whole.substr(0, size)) ==
          doctest::Contains("is damaged, cut off or no TorchScript: PytorchStreamReader failed"));
  }
}

TEST_CASE("a script whose forward pass cannot be used is refused") {
  CHECK(refusal_of_module(script_module("def other(self, x):\n    return x\n")) ==
        doctest::Contains("must have a method forward, got none"));
  CHECK(refusal_of_module(script_module("def forward(self):\n    return self.weight\n")) ==
        doctest::Contains("forward must take one tensor, got ()"));
  CHECK(refusal_of_module(script_module("def forward(self, x, mask):\n    return x * mask\n")) ==
        doctest::Contains("must take one tensor, got (x: Tensor, mask: Tensor); wrap the module"));
  CHECK(refusal_of_module(
            script_module("def forward(self, x: int):\n    return self.weight * x\n")) ==
        doctest::Contains("must take one tensor, got (x: int)"));
  CHECK(refusal_of_module(script_module("def forward(self, x):\n    return x.dim()\n")) ==
        doctest::Contains("or a dict of tensors by name, got int; wrap"));
  CHECK(refusal_of_module(script_module("def forward(self, x):\n    return x, [x]\n")) ==
        doctest::Contains("got Tuple[Tensor, List[Tensor]]"));
  CHECK(refusal_of_module(script_module(
            "def forward(self, x, scale: float = 2.0):\n    return self.bias * scale\n")) ==
        "accepted");
}

TEST_CASE("a script without parameters that can be trained is refused") {
  torch::jit::Module none("net");
  none.define("def forward(self, x):\n    return x\n");
  CHECK(refusal_of_module(none) == doctest::Contains("must have parameters, got none, as torch.jit."
                                                     "freeze and optimize_for_inference leave"));
  torch::jit::Module still = script_module(linear);
  for (const at::Tensor& parameter : still.parameters())
    parameter.set_requires_grad(false);
  CHECK(refusal_of_module(still) == doctest::Contains("call net.requires_grad_(True) before"));
  torch::jit::Module half = script_module(linear);
  half.to(at::kHalf);
  CHECK(
      refusal_of_module(half) ==
      doctest::Contains("must be float32 or float64, got Half for \"weight\"; script net.float()"));
}

TEST_CASE("operations whose mode is a constant are refused") {
  const auto dropout = [](const std::string& share, const std::string& mode) {
    return refusal_of_module(script_module("def forward(self, x):\n    return torch.dropout(x, " +
                                           share + ", " + mode + ")\n"));
  };
  CHECK(dropout("0.5", "True") ==
        "BatchNorm and dropout must follow net.train() and net.eval(), got "
        "1 dropout fixed to training, as torch.jit.trace does; use "
        "torch.jit.script(net)");
  CHECK(dropout("0.5", "False") == doctest::Contains("1 dropout fixed to evaluation"));
  CHECK(dropout("0.5", "self.training") == "accepted");
  CHECK(dropout("0.0", "True") == "accepted");
  CHECK(refusal_of_module(script_module(R"(
def forward(self, x):
    if x.dim() == 3:
        x = torch.batch_norm(x, None, None, self.bias, self.bias, False, 0.1, 1e-5, False)
    return x
)")) == doctest::Contains("1 batch_norm fixed to evaluation"));
}

TEST_CASE("only a network that was read from TorchScript is written as it") {
  const auto network = make_efficient_glaucoma_cnn();
  CHECK_THROWS_WITH_AS(save_script(*network, "net.pt"),
                       doctest::Contains("only a network that was read from TorchScript"),
                       headrace::ConfigError);
  CHECK(script_aliases(*network).empty());
}

TEST_CASE("files that Python writes are read, or refused by what they are") {
  if (python_with_torch().empty()) return skip(no_python);
  const TemporaryFolder folder;
  run_python("tests/models/script_files.py", folder.path().string());
  const auto refusal = [&](const char* name) { return refusal_of(folder / name); };
  for (const char* name : {"plain.pt", "tuple.pt", "dict.pt", "batch_statistics.pt",
                           "traced_without_modes.pt", "tied.pt", "bare.pt"}) {
    CAPTURE(name);
    CHECK(refusal(name) == "accepted");
  }
  CHECK(refusal("frozen.pt") == doctest::Contains("must have parameters, got none"));
  CHECK(
      refusal("traced_training.pt") ==
      doctest::Contains("got 1 batch_norm, 1 dropout fixed to training, as torch.jit.trace does"));
  CHECK(refusal("traced_evaluation.pt") == doctest::Contains("fixed to evaluation"));
  CHECK(refusal("exported.pt2") == doctest::Contains("is a .pt2 archive of torch.export"));
  CHECK(refusal("weights.pt") == doctest::Contains("is a pickle of weights"));
  CHECK(refusal("checkpoint.pt") == doctest::Contains("is a pickle of weights"));
  CHECK(refusal("whole.pt") ==
        doctest::Contains("is a pickle of the Python object __main__.Plain"));
  CHECK(refusal("old_weights.pt") == doctest::Contains("is a pickle of torch.save in its old"));
  CHECK(refusal("any.zip") == doctest::Contains("no TorchScript: Expected hasRecord(\"version\")"));
  CHECK(refusal("package.zip") ==
        doctest::Contains("is a zip archive without a TorchScript program"));

  const auto plain = read_script_network(folder / "plain.pt");
  for (const NamedTensor& buffer : plain->buffers())
    CHECK(buffer.name != "position");
  CHECK(state_of(*plain).size() == 9);
  CHECK(state_of(*read_script_network(folder / "bare.pt")).size() == 10);
  CHECK(read_script_network(folder / "tuple.pt")->outputs(at::rand({2, 3, 8, 8})).deep.size() == 1);
  CHECK(read_script_network(folder / "dict.pt")->outputs(at::rand({2, 3, 8, 8})).extra.size() == 1);
  CHECK(script_aliases(*read_script_network(folder / "tied.pt")).size() == 1);
}
