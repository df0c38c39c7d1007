// What blocks that run twice refuse, and what may happen between the two runs.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/block_module.h>
#include <headrace/tests/models/checkpointed_part.h>
#include <headrace/tests/models/script_modules.h>

#include "../support/torch_doctest.h"

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Contains;
using headrace::ConfigError;

namespace {

namespace nn = torch::nn;

// A block without modules.
Block block_of(std::function<at::Tensor(const at::Tensor&)> compute) {
  return {.run = [compute = std::move(compute)](Tensors x) { return Tensors{compute(x[0])}; }};
}

// In a thread of its own; its exception comes out here.
void elsewhere(const std::function<void()>& work) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

// What a part has after one step of the seed 5: gradients and buffers.
Tensors state_of(Part& part) {
  Tensors all = part.module->buffers();
  for (const at::Tensor& parameter : part.module->parameters())
    all.push_back(parameter.grad());
  return all;
}

// Two blocks over one layer.
struct Pair : BlockModule {
  explicit Pair(const std::string& second = "b") {
    add_block("a", {linear.ptr()});
    add_block(second, {linear.ptr()});
  }
  at::Tensor forward(const at::Tensor& x) {
    return run_block(
        "a", [this](const at::Tensor& y) { return linear->forward(y).tanh(); }, x);
  }
  nn::Linear linear = register_module("linear", nn::Linear(3, 3));
};

}  // namespace

TEST_CASE("a block inside another is refused, and the next is not") {
  Part part;
  const Block outer{.run = [&](Tensors x) { return checkpointed(part.block(), std::move(x)); },
                    .modules = {part.module.ptr()}};
  CHECK_THROWS_WITH_AS(checkpointed(outer, {input_of()}), Contains("another inside"), ConfigError);
  CHECK(checkpointed(part.block(), {input_of()})[0].requires_grad());
}

TEST_CASE("gradients of gradients are refused") {
  Part part;
  const at::Tensor input = input_of().requires_grad_();
  const at::Tensor loss = checkpointed(part.block(), {input})[0].square().sum();
  CHECK_THROWS_WITH_AS(torch::autograd::grad({loss}, {input}, {}, true, /*create_graph=*/true),
                       Contains("create_graph"), ConfigError);
}

TEST_CASE("a trained tensor of no listed module is refused, not left without gradient") {
  Part part;
  nn::Linear forgotten(4, 2);
  forgotten->to(at::kDouble);
  const Block block{.run = [&](Tensors x) { return Tensors{forgotten(part(x[0]))}; },
                    .modules = {part.module.ptr()}};
  const at::Tensor loss = checkpointed(block, {input_of()})[0].sum();
  CHECK_THROWS_WITH_AS(loss.backward(), Contains("got one of [2, 4] of neither; list its module"),
                       ConfigError);
}

TEST_CASE("a mode that changes between forward and backward pass is refused") {
  for (const int changed : {1, 2}) {  // the norm, the dropout
    Part part;
    const at::Tensor loss = again(part, input_of()).sum();
    part.module[changed]->eval();
    CHECK_THROWS_WITH_AS(loss.backward(), Contains("mode of the forward pass"), ConfigError);
  }
}

TEST_CASE("weights or inputs that change in place before the backward pass are found") {
  Part part;
  const at::Tensor input = input_of();
  const at::Tensor loss = again(part, input).sum();
  {
    const at::NoGradGuard no_gradient;
    part.weight().mul_(2.0);
  }
  CHECK_THROWS_WITH(loss.backward(), Contains("modified by an inplace operation"));
  const at::Tensor second = again(part, input).sum();
  input.add_(1.0);
  CHECK_THROWS_WITH(second.backward(), Contains("modified by an inplace operation"));
}

TEST_CASE(
    "a block that fails when it runs again leaves generator, autocast and buffers as they were") {
  Part part;
  bool fails = false;
  const Block block{.run =
                        [&](Tensors x) {
                          const at::Tensor output = part(x[0]);
                          if (fails) throw std::runtime_error("no more");
                          return Tensors{output};
                        },
                    .modules = {part.module.ptr()}};
  at::Tensor loss;
  {
    const Bfloat16 scope;
    loss = checkpointed(block, {input_of()})[0].sum();
  }
  fails = true;
  const at::Tensor mean = part.buffer("1.running_mean").clone();
  const at::Tensor before = generator_state();
  CHECK_THROWS_WITH(loss.backward(), "no more");
  CHECK(at::equal(generator_state(), before));
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  CHECK(at::equal(part.buffer("1.running_mean"), mean));
  CHECK(part.buffer("1.num_batches_tracked").item<std::int64_t>() == 1);
  fails = false;
  checkpointed(block, {input_of()})[0].sum().backward();
}

TEST_CASE("a backward pass in another thread gives what one in the same thread gives") {
  const auto step = [](const Forward& forward, bool there, bool lowered) {
    at::manual_seed(3);
    Part part(at::kFloat);
    at::Tensor loss;
    {
      const auto scope = lowered ? std::make_unique<Bfloat16>() : nullptr;
      loss = forward(part, input_of(at::kFloat)).to(at::kFloat).square().sum();
    }
    if (there)
      elsewhere([&] { loss.backward(); });
    else
      loss.backward();
    return state_of(part);
  };
  for (const bool lowered : {false, true})
    CHECK(same(step(again, true, lowered), step(plain, false, lowered)));
  Part part;
  const at::Tensor loss = again(part, input_of()).sum();
  part.module->eval();
  CHECK_THROWS_AS(elsewhere([&] { loss.backward(); }), ConfigError);
}

TEST_CASE("a block that is run twice in one forward pass has the gradients of both runs") {
  const auto step = [](const Forward& forward) {
    at::manual_seed(3);
    Part part;
    at::Tensor input = input_of().requires_grad_();
    (forward(part, input).square() * forward(part, input.flip(0)).exp()).sum().backward();
    Tensors all = state_of(part);
    all.push_back(input.grad());
    return all;
  };
  CHECK(same(step(again), step(plain)));
}

TEST_CASE("a view as input has its gradient where it comes from, and no change of that is missed") {
  const auto step = [](const Forward& forward) {
    Part part;
    at::manual_seed(3);
    const at::Tensor base = at::rand({4, 8, 3}, at::kDouble).requires_grad_();
    at::manual_seed(5);
    forward(part, base.select(0, 2)).square().sum().backward();
    return base.grad();
  };
  at::manual_seed(3);
  const at::Tensor expected = step(plain);
  at::manual_seed(3);
  CHECK(at::equal(step(again), expected));
  CHECK(expected[2].abs().sum().item<double>() > 0.0);

  Part part;
  const at::Tensor base = at::rand({4, 8, 3}, at::kDouble);
  const at::Tensor loss = again(part, base.select(0, 2)).sum();
  base.zero_();
  CHECK_THROWS_WITH(loss.backward(), Contains("modified by an inplace operation"));
}

TEST_CASE("an output that is the input or a view of it gives the gradient, but takes no change") {
  for (const auto& alias : {block_of([](const at::Tensor& x) { return x; }),
                            block_of([](const at::Tensor& x) { return x.transpose(0, 1); })}) {
    const at::Tensor input = input_of().requires_grad_();
    const at::Tensor output = checkpointed(alias, {input * 1.0})[0];
    CHECK_FALSE(output.is_leaf());
    (output * output).sum().backward();
    CHECK(at::equal(input.grad(), 2.0 * input));
    const at::Tensor changed = checkpointed(alias, {input * 1.0})[0];
    CHECK_THROWS([&] {
      changed.mul_(3.0);
      changed.sum().backward();
    }());
  }
}

TEST_CASE("an output of its own may be changed in place, as a plain one") {
  const auto gradient = [](const Forward& forward) {
    at::manual_seed(3);
    Part part;
    forward(part, input_of()).add_(1.0).square().sum().backward();
    return part.weight().grad();
  };
  CHECK(at::equal(gradient(again), gradient(plain)));
}

TEST_CASE("a block that changes its input or a parameter in place is refused at once") {
  const at::Tensor input = input_of().requires_grad_();
  const at::Tensor data = input * 1.0;
  const Block adds = block_of([](const at::Tensor& x) { return x.add_(1.0) * 2.0; });
  CHECK_THROWS_WITH_AS(checkpointed(adds, {data}), Contains("in place"), ConfigError);
  Part part;
  const Block shrinks{.run =
                          [&](Tensors x) {
                            const at::NoGradGuard no_gradient;
                            part.weight().mul_(.9);
                            return Tensors{part(x[0])};
                          },
                      .modules = {part.module.ptr()}};
  CHECK_THROWS_WITH_AS(checkpointed(shrinks, {input}), Contains("got one of [4, 3]"), ConfigError);
}

TEST_CASE("what is frozen or trained anew between the two passes has what a plain step has") {
  const auto step = [](const Forward& forward, bool trained_before) {
    at::manual_seed(3);
    Part part;
    part.weight().requires_grad_(trained_before);
    const at::Tensor input = input_of().requires_grad_();
    const at::Tensor loss = forward(part, input).square().sum();
    part.weight().requires_grad_(!trained_before);
    loss.backward();
    CHECK_FALSE(part.weight().grad().defined());
    Tensors all = state_of(part);
    all.push_back(input.grad());
    return all;
  };
  for (const bool trained : {false, true})
    CHECK(same(step(again, trained), step(plain, trained)));
}

TEST_CASE("a parameter that a block leaves unused has no gradient") {
  Part part;
  nn::Linear unused(2, 2);
  const Block block{.run = part.block().run, .modules = {part.module.ptr(), unused.ptr()}};
  checkpointed(block, {input_of()})[0].sum().backward();
  CHECK(part.weight().grad().defined());
  CHECK_FALSE(unused->weight.grad().defined());
}

TEST_CASE("a trained parameter with a hook is refused: it would see its gradient twice") {
  Part part;
  int calls = 0;
  const unsigned hook = part.weight().register_hook([&](const at::Tensor& gradient) {
    ++calls;
    return gradient * 2.0;
  });
  const at::Tensor loss = again(part, input_of()).sum();
  CHECK_THROWS_WITH_AS(loss.backward(), Contains("must have no hooks"), ConfigError);
  CHECK(calls == 0);
  part.weight().remove_hook(hook);
}

TEST_CASE("running statistics of evaluation that change before the backward pass are found") {
  Part part;
  part.module->eval();
  const at::Tensor loss = again(part, input_of()).square().sum();
  part.buffer("1.running_mean").add_(1.0);
  CHECK_THROWS_WITH_AS(loss.backward(), Contains("in evaluation have its buffers"), ConfigError);
}

TEST_CASE("a block that gives other tensors when it runs again is refused") {
  int runs = 0;
  const Block block{.run = [&](Tensors x) {
    return ++runs == 1 ? Tensors{x[0].exp(), x[0].sin()} : Tensors{x[0].exp()};
  }};
  const at::Tensor loss = checkpointed(block, {input_of().requires_grad_()})[0].sum();
  CHECK_THROWS_WITH_AS(loss.backward(), Contains("got 1 tensors after 2"), ConfigError);
}

TEST_CASE("a trained script inside a block is refused, a frozen one is run") {
  const torch::jit::Module script = script_module(headrace::test::linear);
  const Block block = block_of([script](const at::Tensor& x) mutable {
    return torch::jit::Module(script).forward({x}).toTensor();
  });
  const at::Tensor input = at::rand({2, 3}).requires_grad_();
  CHECK_THROWS_WITH_AS(checkpointed(block, {input})[0].sum().backward(),
                       Contains("list its module"), ConfigError);
  for (at::Tensor parameter : script.parameters())
    parameter.requires_grad_(false);
  checkpointed(block, {input})[0].sum().backward();
  CHECK(input.grad().defined());
}

TEST_CASE("in inference mode a block just runs") {
  Part part;
  part.module->eval();
  const c10::InferenceMode inference;
  const at::Tensor output = again(part, input_of());
  CHECK(output.is_inference());
  CHECK(at::equal(output, part(input_of())));
}

TEST_CASE("a block whose output nobody goes back through keeps nothing behind") {
  Part part;
  const long users = part.module.ptr().use_count();
  { const at::Tensor unused = again(part, input_of()); }
  again(part, input_of()).sum().backward();
  CHECK(part.module.ptr().use_count() == users);
}

TEST_CASE("a backward pass that comes twice is refused as of a plain block") {
  Part part;
  const at::Tensor loss = again(part, input_of()).sum();
  loss.backward();
  CHECK_THROWS_WITH(loss.backward(), Contains("a second time"));
}

TEST_CASE("blocks of one name in a module are refused") {
  CHECK_THROWS_WITH_AS(Pair("a"), Contains("got \"a\" twice"), ConfigError);
}

TEST_CASE("a module under two names is checkpointed by either") {
  struct Shared : nn::Module {
    std::shared_ptr<Pair> first = register_module("first", std::make_shared<Pair>());
    std::shared_ptr<Pair> second = register_module("second", first);
  };
  const auto shared = std::make_shared<Shared>();
  CHECK(block_names(*shared) ==
        std::vector<std::string>{"first.a", "first.b", "second.a", "second.b"});
  const auto kept = [&] { return shared->first->forward(at::rand({2, 3})).grad_fn()->name(); };
  for (const char* pattern : {"first.a", "second.a"}) {
    checkpoint_blocks(*shared, {pattern});
    CHECK(kept().find("Checkpoint") != std::string::npos);
  }
  checkpoint_blocks(*shared, {"first.b"});
  CHECK(kept().find("Checkpoint") == std::string::npos);
}
