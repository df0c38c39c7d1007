#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/script_program.h>
#include <headrace/models/networks/script_network.h>
#include <headrace/models/networks/try_forward.h>
#include <headrace/tests/models/script_modules.h>

#include "../support/torch_doctest.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <torch/csrc/jit/serialization/import.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

constexpr const char* counting = R"(
def forward(self, x):
    if self.training:
        self.seen.add_(1)
    return torch.linear(torch.dropout(x, 0.5, self.training), self.weight, self.bias)
)";

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& item : tensors)
    names.push_back(item.name);
  return names;
}

using Names = std::vector<std::string>;

Output outputs_of(const std::string& body, const ScriptOptions& options = {}) {
  const auto network = read_written(
      script_module("def forward(self, x):\n    y = torch.linear(x, self.weight, self.bias)\n" +
                    body),
      options);
  return network->outputs(at::ones({2, 3}));
}

double mean_of(const at::Tensor& tensor) {
  return tensor.mean().item<double>();
}

}  // namespace

TEST_CASE("a script's tensors have the names of its modules") {
  torch::jit::Module outer("outer");
  outer.register_attribute("training", c10::BoolType::get(), true);
  outer.register_module("head", script_module(linear));
  outer.define("def forward(self, x):\n    return self.head.forward(x)\n");
  const auto network = read_written(outer);
  CHECK(names_of(network->parameters()) == Names{"head.weight", "head.bias"});
  CHECK(names_of(network->buffers()) == Names{"head.seen"});
  CHECK(parameter_count(*network) == 16);
  CHECK(network->forward(at::rand({2, 3})).sizes() == at::IntArrayRef{2, 4});
}

TEST_CASE("a script follows training and evaluation mode, and starts in training mode") {
  const auto network = read_written(script_module(counting));
  CHECK(network->is_training());
  const at::Tensor x = at::ones({64, 3});
  CHECK_FALSE(at::equal(network->forward(x), network->forward(x)));
  CHECK(network->buffers().at(0).tensor.item<double>() == 2.0);
  network->set_training(false);
  CHECK_FALSE(network->is_training());
  CHECK(at::equal(network->forward(x), network->forward(x)));
  CHECK(network->buffers().at(0).tensor.item<double>() == 2.0);
}

TEST_CASE("tensors of one storage are one parameter, which the network says, wherever it goes") {
  torch::jit::Module module = script_module(linear);
  // Another object of the same storage, as nn.Parameter(other.data) makes it.
  module.register_parameter(
      "second", module.attr("weight").toTensor().detach().alias().requires_grad_(), false);
  module.define("def both(self, x):\n    return torch.linear(x, self.second)\n");
  torch::jit::Module wrapped("outer");
  wrapped.register_attribute("training", c10::BoolType::get(), true);
  wrapped.register_module("a", module);
  wrapped.register_module("b", module);
  wrapped.define("def forward(self, x):\n    return self.a.forward(x) + self.b.both(x)\n");

  const auto network = read_written(wrapped);
  CHECK(names_of(network->parameters()) == Names{"a.weight", "a.bias"});
  CHECK(parameter_count(*network) == 16);
  std::vector<std::string> aliases;
  for (const ScriptAlias& alias : script_aliases(*network))
    aliases.push_back(alias.name + " = " + alias.of);
  CHECK(aliases == Names{"a.second = a.weight", "b.weight = a.weight", "b.bias = a.bias",
                         "b.second = a.weight", "b.seen = a.seen"});

  network->move_to(at::kCPU, true);
  network->forward(at::ones({1, 3})).sum().backward();
  CHECK(at::equal(network->parameters().at(0).tensor.grad(), at::full({4, 3}, 2.0)));

  const TemporaryFolder folder;
  save_script(*network, folder / "again.pt");
  CHECK(parameter_count(*read_script_network(folder / "again.pt")) == 16);
}

TEST_CASE("parameters that the file keeps without gradient are state, not trained") {
  torch::jit::Module module = script_module(linear);
  module.attr("bias").toTensor().requires_grad_(false);
  const auto network = read_written(module);
  CHECK(names_of(network->parameters()) == Names{"weight"});
  CHECK(names_of(network->buffers()) == Names{"bias", "seen"});
}

TEST_CASE("buffers that state_names lacks, or that the options name, are no part of the state") {
  const torch::jit::Module module = script_module(linear);
  CHECK(read_written(module, {}, {{"state_names", "weight\nbias"}})->buffers().empty());
  CHECK(read_written(module, {.non_persistent = {"seen"}})->buffers().empty());
  CHECK(names_of(read_written(module, {}, {{"state_names", "weight\nbias\nseen\n"}})->buffers()) ==
        Names{"seen"});
  CHECK_THROWS_WITH_AS(read_written(module, {}, {{"state_names", "weight\nbias\nother"}}),
                       doctest::Contains("which has no \"other\""), headrace::ConfigError);
  CHECK_THROWS_WITH_AS(read_written(module, {}, {{"state_names", "weight\nseen"}}),
                       doctest::Contains("it lacks the parameter \"bias\""), headrace::ConfigError);
  CHECK_THROWS_WITH_AS(
      read_written(module, {.non_persistent = {"sen"}}),
      doctest::Contains("non_persistent must name buffers of the script, got \"sen\"; it has seen"),
      headrace::ConfigError);
}

TEST_CASE("of a tuple or list the first tensor is the main output, the others are deep ones") {
  for (const char* body :
       {"    return y, y * 0.0, y * 0.0 + 2.0\n", "    return [y, y * 0.0, y * 0.0 + 2.0]\n"}) {
    const Output output = outputs_of(body);
    CHECK(output.main.requires_grad());
    REQUIRE(output.deep.size() == 2);
    CHECK(mean_of(output.deep[0]) == 0.0);
    CHECK(mean_of(output.deep[1]) == 2.0);
    CHECK(output.extra.empty());
  }
  CHECK(outputs_of("    return y\n").deep.empty());
}

TEST_CASE("of a dict the named entry, main, out or the only one is the main output") {
  const std::string two = "    return {'aux': y * 0.0, 'out': y * 0.0 + 1.0}\n";
  const Output output = outputs_of(two);
  CHECK(mean_of(output.main) == 1.0);
  CHECK(output.extra.size() == 1);
  CHECK(mean_of(output.extra.at("aux")) == 0.0);
  CHECK(mean_of(outputs_of(two, {.main = "aux"}).main) == 0.0);
  CHECK(outputs_of("    return {'logits': y}\n").main.defined());
  CHECK(mean_of(outputs_of("    return {'main': y * 0.0, 'out': y}\n").main) == 0.0);
  CHECK_THROWS_WITH_AS(
      outputs_of("    return {'a': y, 'b': y}\n"),
      doctest::Contains("\"main\" or \"out\", got \"a\", \"b\"; name it by the key"),
      headrace::ConfigError);
  CHECK_THROWS_WITH_AS(outputs_of(two, {.main = "aus"}),
                       doctest::Contains("\"aus\", got \"aux\", \"out\""), headrace::ConfigError);
}

TEST_CASE("a script is written with its present weights, for the CPU and evaluation") {
  const auto network =
      read_written(script_module(counting), {}, {{"state_names", "weight\nbias\nseen"}});
  {
    const at::NoGradGuard no_gradient;
    network->parameters().at(0).tensor.fill_(3.0);
  }
  network->parameters().at(1).tensor.requires_grad_(false);  // a stage has frozen it
  const TemporaryFolder folder;
  save_script(*network, folder / "net.pt");
  CHECK(network->is_training());
  CHECK_FALSE(network->parameters().at(1).tensor.requires_grad());

  CHECK_FALSE(torch::jit::load((folder / "net.pt").string()).is_training());
  const auto again = read_script_network(folder / "net.pt");
  CHECK(names_of(state_of(*again)) == names_of(state_of(*network)));
  network->set_training(false);
  again->set_training(false);
  const at::Tensor x = at::rand({5, 3});
  CHECK(at::equal(again->forward(x), network->forward(x)));
  CHECK_THROWS_AS(save_script(*network, folder / "none" / "net.pt"), headrace::ResourceError);
}

TEST_CASE("four-dimensional tensors of a script take the channels-last layout when asked") {
  torch::jit::Module module = script_module("");
  module.register_parameter("kernel", at::rand({4, 3, 3, 3}).requires_grad_(), false);
  module.register_attribute("shift", c10::TensorType::get(), at::rand({1}));
  module.define("def forward(self, x):\n    return torch.conv2d(x, self.kernel) + self.shift\n");
  const auto network = read_written(module);
  network->move_to(at::kCPU, true);
  CHECK(network->parameters().at(2).tensor.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(names_of(network->buffers()) == Names{"seen"});

  const TemporaryFolder folder;
  save_script(*network, folder / "net.pt");
  CHECK(read_script_network(folder / "net.pt")->parameters().at(2).tensor.is_contiguous());
}

TEST_CASE("tensors that are constants of the graph, as traced ones are, go to the device") {
  const torch::jit::Module module = script_module("def forward(self, x):\n    return x\n");
  torch::jit::Graph& graph =
      *torch::jit::toGraphFunction(module.get_method("forward").function()).graph();
  torch::jit::Value* shift = graph.insertConstant(at::full({3}, 2.0));
  torch::jit::Value* sum = graph.insert(c10::aten::add, {graph.inputs()[1], shift});
  graph.eraseOutput(0);
  graph.registerOutput(sum);

  headrace::models::detail::ScriptProgram on_meta(module, at::kMeta);
  CHECK(on_meta(at::rand({2, 3}, at::kMeta)).toTensor().is_meta());
  headrace::models::detail::ScriptProgram on_cpu(module, at::kCPU);
  CHECK(mean_of(on_cpu(at::zeros({2, 3})).toTensor()) == 2.0);
  CHECK_THROWS_AS(on_cpu(at::rand({2, 3}, at::kMeta)), std::runtime_error);
}

TEST_CASE("lack of memory inside a script is LibTorch's error, as without a script") {
  const auto network = read_written(script_module(R"(
def forward(self, x):
    assert x.dim() == 4, "CUDA out of memory. Tried to allocate 2.00 GiB"
    return x * self.bias
)"));
  CHECK_THROWS_WITH_AS(network->forward(at::rand({2, 3})), doctest::Contains("Tried to allocate"),
                       c10::OutOfMemoryError);
  CHECK_THROWS_AS(try_forward(*network, {2, 3}, at::kCPU, "net"), c10::OutOfMemoryError);
}

TEST_CASE("the trial forward pass leaves a network as it was") {
  const auto network = read_written(script_module(counting));
  at::manual_seed(5);
  const at::Tensor drawn = at::rand({1});
  at::manual_seed(5);
  const Output output = try_forward(*network, {2, 3}, at::kCPU, "[network] net.pt");
  CHECK(output.main.sizes() == at::IntArrayRef{2, 4});
  CHECK_FALSE(output.main.requires_grad());
  CHECK(at::equal(at::rand({1}), drawn));
  CHECK(network->is_training());
  CHECK(network->buffers().at(0).tensor.item<double>() == 0.0);
}

TEST_CASE("the trial forward pass names file, shape and the script's own reason") {
  const auto network = read_written(script_module(linear));
  CHECK_THROWS_WITH_AS(try_forward(*network, {2, 5}, at::kCPU, "[network] net.pt"),
                       "[network] net.pt: a forward pass of Float [2, 5] on cpu in training mode "
                       "fails: mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4); make the "
                       "shape of the data and that of the network the same",
                       headrace::ConfigError);
  const auto checked = read_written(script_module(R"(
def forward(self, x):
    assert x.dim() == 4, "expected four dimensions"
    return x * self.bias
)"));
  CHECK_THROWS_WITH_AS(try_forward(*checked, {2, 3}, at::kCPU, "net"),
                       doctest::Contains("fails: expected four dimensions; make"),
                       headrace::ConfigError);
  const auto detached = read_written(script_module(R"(
def forward(self, x):
    return torch.linear(x, self.weight, self.bias).detach()
)"));
  CHECK_THROWS_WITH_AS(try_forward(*detached, {2, 3}, at::kCPU, "net"),
                       doctest::Contains("must give an output with a gradient"),
                       headrace::ConfigError);
}
