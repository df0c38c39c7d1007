// A block that runs twice gives what a block gives that runs once.
#include <headrace/tests/models/checkpointed_part.h>

#include "../support/torch_doctest.h"

#include <limits>
#include <memory>

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

namespace nn = torch::nn;

// Gradients, buffers and generator behind one step from the seed 5; weights and input are those of
// the seed 3.
struct PartStep {
  Tensors gradients;
  Tensors buffers;
  at::Tensor output;
  at::Tensor generator;
};

PartStep step_of(const Forward& forward, at::Tensor input) {
  at::manual_seed(3);
  Part part(input.scalar_type());
  at::manual_seed(5);
  PartStep step;
  step.output = forward(part, input);
  (step.output * step.output).sum().backward();
  step.generator = generator_state();
  for (const at::Tensor& parameter : part.module->parameters())
    step.gradients.push_back(parameter.grad());
  step.gradients.push_back(input.grad());
  step.buffers = part.module->buffers();
  return step;
}

void check_same(const PartStep& a, const PartStep& b) {
  CHECK(at::equal(a.output, b.output));
  CHECK(same(a.gradients, b.gradients));
  CHECK(same(a.buffers, b.buffers));
  CHECK(at::equal(a.generator, b.generator));
}

// The backward pass through a block that is run again as one would at first: without a thought for
// generators and statistics.
struct Naive : torch::autograd::Function<Naive> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, Part* part,
                            const at::Tensor& input) {
    context->save_for_backward({input});
    context->saved_data["part"] = reinterpret_cast<std::int64_t>(part);
    return (*part)(input);
  }
  static Tensors backward(torch::autograd::AutogradContext* context, const Tensors& gradients) {
    const at::Tensor input = context->get_saved_variables()[0].detach().requires_grad_();
    const at::AutoGradMode with_gradients(true);
    auto& part = *reinterpret_cast<Part*>(context->saved_data["part"].toInt());
    part(input).backward(gradients[0]);
    return {at::Tensor(), input.grad()};
  }
};

}  // namespace

TEST_CASE(
    "a checkpointed block gives the plain one's gradients, buffers and generator, bit by bit") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const bool first : {false, true}) {  // the first block's input is data, without gradient
      CAPTURE(first);
      const auto input = [&] { return input_of(type).requires_grad_(!first); };
      const PartStep step = step_of(again, input());
      CHECK(step.gradients[0].abs().sum().item<double>() > 0.0);
      CHECK(step.gradients.back().defined() != first);
      check_same(step, step_of(plain, input()));
    }
}

TEST_CASE("run again without a thought, a block draws other dropout and moves statistics twice") {
  const at::Tensor input = input_of();
  const PartStep once = step_of(plain, input.clone().requires_grad_());
  const PartStep twice =
      step_of([](Part& part, const at::Tensor& x) { return Naive::apply(&part, x); },
              input.clone().requires_grad_());
  CHECK(at::equal(once.output, twice.output));
  CHECK_FALSE(same(once.gradients, twice.gradients));
  CHECK_FALSE(at::equal(once.generator, twice.generator));
  // 1 - (1 - .1)^2 of the batch's mean instead of .1
  CHECK(at::allclose(twice.buffers[0], once.buffers[0] * 1.9));
  CHECK(twice.buffers[2].item<std::int64_t>() == 2);
}

TEST_CASE("a step moves running statistics by one momentum and counts one batch") {
  Part part;
  const at::Tensor input = input_of();
  const at::Tensor mean = part.module[0]->as<nn::Linear>()->forward(input).mean(0).detach();
  checkpointed(part.block(), {input})[0].sum().backward();
  CHECK(at::allclose(part.buffer("1.running_mean"), .1 * mean));
  CHECK(part.buffer("1.num_batches_tracked").item<std::int64_t>() == 1);
}

TEST_CASE("statistics that are not finite come out of a checkpointed block as of a plain one") {
  Part part;
  const at::Tensor input = input_of();
  input[0][0] = std::numeric_limits<double>::infinity();
  const at::Tensor output = checkpointed(part.block(), {input})[0];
  const at::Tensor before = part.buffer("1.running_mean").clone();
  output.sum().backward();
  CHECK(at::equal(at::isnan(part.buffer("1.running_mean")), at::isnan(before)));
  CHECK(part.buffer("1.num_batches_tracked").item<std::int64_t>() == 1);
}

TEST_CASE("a block takes and gives several tensors, of any types, and outputs may be left unused") {
  nn::Linear linear(3, 3);
  linear->to(at::kDouble);
  const Block block{.run =
                        [linear](Tensors x) mutable {
                          const at::Tensor mixed = linear(x[0]) * x[1] + x[2];
                          return Tensors{mixed, mixed.argmax(1), x[1].exp(), mixed.detach()};
                        },
                    .modules = {linear.ptr()}};
  const auto step = [&](bool checkpoints) {
    const at::Tensor a = input_of().requires_grad_();
    const at::Tensor b = (input_of() + 1.0).requires_grad_();
    const at::Tensor counts = at::arange(3);
    linear->zero_grad();
    const Tensors out =
        checkpoints ? checkpointed(block, {a, b, counts}) : block.run({a, b, counts});
    CHECK(out.size() == 4);
    CHECK(out[0].requires_grad());
    CHECK_FALSE(out[1].requires_grad());
    (out[0].sum() + 2.0 * out[3].sum()).backward();
    return Tensors{a.grad(), b.grad(), linear->weight.grad().clone(), out[0], out[1]};
  };
  CHECK(same(step(true), step(false)));
}

TEST_CASE("without a gradient to compute a block just runs") {
  Part part;
  int runs = 0;
  const Block block{.run =
                        [&](Tensors x) {
                          ++runs;
                          return Tensors{part(x[0])};
                        },
                    .modules = {part.module.ptr()}};
  {
    const at::NoGradGuard no_gradient;
    part.module->eval();
    CHECK_FALSE(checkpointed(block, {input_of()})[0].requires_grad());
    part.module->train();
  }
  for (const at::Tensor& parameter : part.module->parameters())
    parameter.requires_grad_(false);
  CHECK_FALSE(checkpointed(block, {input_of()})[0].requires_grad());
  CHECK(runs == 2);
  const at::Tensor input = input_of().requires_grad_();
  checkpointed(block, {input})[0].sum().backward();  // a frozen block hands the gradient on
  CHECK(runs == 4);
  CHECK(input.grad().defined());
  CHECK_FALSE(part.weight().grad().defined());
}

TEST_CASE("in evaluation mode a block has its gradients too, from the running statistics") {
  const auto evaluated = [](const Forward& forward) {
    return [&forward](Part& part, const at::Tensor& input) {
      part.buffer("1.running_mean").fill_(.25);
      part.module->eval();
      return forward(part, input);
    };
  };
  check_same(step_of(evaluated(again), input_of()), step_of(evaluated(plain), input_of()));
}

TEST_CASE("a graph that is kept is gone through twice, as a plain one") {
  const auto twice = [](const Forward& forward) {
    at::manual_seed(3);
    Part part;
    const at::Tensor loss = forward(part, input_of()).square().sum();
    loss.backward({}, /*retain_graph=*/true);
    loss.backward();
    Tensors all = part.module->buffers();
    all.push_back(part.weight().grad());
    return all;
  };
  CHECK(same(twice(again), twice(plain)));
}

TEST_CASE("gradients that are asked for by name come out, and nothing else gets one") {
  Part part;
  const at::Tensor input = input_of().requires_grad_();
  const at::Tensor loss = checkpointed(part.block(), {input})[0].square().sum();
  const Tensors found = torch::autograd::grad({loss}, {part.weight()});
  CHECK(found[0].abs().sum().item<double>() > 0.0);
  CHECK_FALSE(part.weight().grad().defined());
  CHECK_FALSE(input.grad().defined());
}

TEST_CASE("blocks one behind the other share what they share") {
  nn::Linear linear(3, 3);
  linear->to(at::kDouble);
  const Block block{.run = [linear](Tensors x) mutable { return Tensors{linear(x[0]).tanh()}; },
                    .modules = {linear.ptr(), linear.ptr()}};
  const auto gradient = [&](bool checkpoints) {
    linear->zero_grad();
    at::Tensor x = input_of();
    for (int i = 0; i < 3; ++i)
      x = checkpoints ? checkpointed(block, {x})[0] : block.run({x})[0];
    x.sum().backward();
    return linear->weight.grad().clone();
  };
  CHECK(at::allclose(gradient(true), gradient(false), 1e-13, 1e-13));
}

TEST_CASE(
    "under autocast a block runs again in the same types, also where weights are used again") {
  const auto lowered = [](const Forward& forward) {
    return [&forward](Part& part, const at::Tensor& input) {
      const Bfloat16 scope;
      const at::Tensor first = forward(part, input);
      CHECK(at::autocast::is_autocast_cache_enabled());
      return first + part(input);  // the weight's cast must not be the one without gradient
    };
  };
  const PartStep step = step_of(lowered(again), input_of(at::kFloat));
  CHECK((step.output.scalar_type() == at::kBFloat16));
  const PartStep expected = step_of(lowered(plain), input_of(at::kFloat));
  CHECK(at::equal(step.output, expected.output));
  CHECK(same(step.buffers, expected.buffers));
  for (std::size_t i = 0; i + 1 < step.gradients.size(); ++i)  // sums in another order
    CHECK(at::allclose(step.gradients[i], expected.gradients[i], 2e-2, 2e-2));
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST_CASE("a backward pass inside or outside of autocast gives the same") {
  const auto gradient = [](const Forward& forward, bool inside) {
    at::manual_seed(3);
    Part part(at::kFloat);
    auto scope = std::make_unique<Bfloat16>();
    const at::Tensor loss = forward(part, input_of(at::kFloat)).to(at::kFloat).square().sum();
    if (!inside) scope.reset();
    loss.backward();
    CHECK(at::autocast::is_autocast_enabled(at::kCPU) == inside);
    return part.weight().grad().clone();
  };
  for (const bool inside : {false, true})
    CHECK(at::equal(gradient(again, inside), gradient(plain, false)));
}

TEST_CASE("a block that was run without autocast runs again without it, wherever it goes back") {
  const auto gradient = [](const Forward& forward) {
    at::manual_seed(3);
    Part part(at::kFloat);
    const at::Tensor loss = forward(part, input_of(at::kFloat)).square().sum();
    const Bfloat16 scope;
    loss.backward();
    return part.weight().grad().clone();
  };
  CHECK(at::equal(gradient(again), gradient(plain)));
}
