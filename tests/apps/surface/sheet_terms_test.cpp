// The terms for thin sheets in the list `loss`: each by its name and factor, what they share, and
// what the loader must have made for them.
#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/task/loss_torch.h>
#include <headrace/apps/task/topology_term_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/loss_terms.h>
#include <headrace/training/memory/tensor_memory.h>

#include "../../support/torch_doctest.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <ATen/Functions.h>

namespace headrace {
using app::LossEntry;
using app::LossList;

namespace {

constexpr std::int64_t depth = 16, rows = 24, columns = 24;

// Two patches with a sheet of four voxels, a corner that nobody has labelled, and what the list
// augment makes of them.
training::Example sheets() {
  at::Tensor label = at::zeros({2, depth, rows, columns}, at::kByte);
  label.slice(1, 6, 10).fill_(1);
  label.slice(2, 0, 6).slice(3, 0, 6).fill_(2);
  training::Example example;
  at::Tensor skeleton = at::zeros_like(label);
  skeleton.slice(1, 7, 9).fill_(1);
  example.targets = {
      {"label", label},
      {"label_1",
       label.slice(1, 0, depth, 2).slice(2, 0, rows, 2).slice(3, 0, columns, 2).contiguous()},
      {"skeleton", skeleton},
      {"betti", at::tensor({1, 0, 0, 1, 0, 0}, at::kInt).reshape({2, 3})}};
  example.rows = 2;
  return example;
}

training::Output output_of(const training::Example& example) {
  at::manual_seed(3);
  const at::Tensor truth = (example.targets.at("label") == 1).to(at::kFloat).unsqueeze(1);
  training::Output output{.main = (truth * 4 - 2 + at::randn_like(truth)).requires_grad_()};
  output.deep.push_back(at::randn({2, 1, depth / 2, rows / 2, columns / 2}).requires_grad_());
  return output;
}

// Of an epoch by which every term is there.
app::LossContext context(const LossList& list, std::int64_t epoch = 8, std::int64_t step = 0) {
  return {.sigmoid = true,
          .ignore = 2,
          .topology = app::make_topology(list, 2),
          .epoch = epoch,
          .step = step,
          .target = "label"};
}

LossList every_term() {
  LossList list = app::composite_loss(app::CompositeOutputs::full_scale, true);
  list.push_back({.term = app::SkeletonRecallTerm{}, .factor = 0.5});
  return list;
}

double value_of(const std::vector<training::Term>& terms, const std::string& name) {
  for (const training::Term& term : terms)
    if (term.name == name) return term.value.item<double>();
  FAIL("no term " << name);
  return 0.0;
}

std::string refusal(const LossList& list, const training::Example& example) {
  try {
    app::loss_terms(list, output_of(example), example, context(list));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// What the graph of the loss holds.
std::int64_t held_by(const LossList& list) {
  const training::Example example = sheets();
  const training::Output output = output_of(example);
  const auto before = static_cast<std::int64_t>(training::tensor_memory(at::kCPU).allocated);
  const auto terms = app::loss_terms(list, output, example, context(list));
  return static_cast<std::int64_t>(training::tensor_memory(at::kCPU).allocated) - before;
}

}  // namespace

TEST_CASE("each term has its name, topology comes last, and all of them are finite") {
  const training::Example example = sheets();
  const LossList list = every_term();
  const auto terms = app::loss_terms(list, output_of(example), example, context(list));
  std::vector<std::string> names;
  for (const training::Term& term : terms) {
    names.push_back(term.name);
    CHECK_MESSAGE(std::isfinite(term.value.item<double>()), term.name);
    CHECK(term.weight.item<double>() > 0.0);
  }
  CHECK(names == std::vector<std::string>{"bce", "dice", "cldice", "skeleton", "surface_distance",
                                          "bce_deep", "dice_deep", "skeleton_recall", "topology"});
}

TEST_CASE("no term has a gradient where nobody has labelled, and has one elsewhere") {
  const training::Example example = sheets();
  for (const LossEntry& entry : every_term()) {
    if (entry.on != "main") continue;
    CAPTURE(app::name_of(entry));
    const LossList list{entry};
    const training::Output output = output_of(example);
    training::total(app::loss_terms(list, output, example, context(list))).backward();
    const at::Tensor gradient = output.main.grad().squeeze(1);
    const at::Tensor unknown = example.targets.at("label") == 2;
    CHECK(gradient.masked_select(unknown).abs().max().item<double>() == 0.0);
    CHECK(gradient.abs().max().item<double>() > 0.0);

    // The mistake: what is unknown is taken for background.
    training::Example remapped = sheets();
    remapped.targets["label"].masked_fill_(unknown, 0);
    const training::Output wrong = output_of(example);
    training::total(app::loss_terms(list, wrong, remapped, context(list))).backward();
    const bool looks_there = !std::holds_alternative<app::SkeletonRecallTerm>(entry.term) &&
                             !std::holds_alternative<app::TopologyTerm>(entry.term);
    if (looks_there)
      CHECK(wrong.main.grad().squeeze(1).masked_select(unknown).abs().max().item<double>() > 0.0);
  }
}

TEST_CASE("topology is there every so many steps after so many epochs, else it weighs nothing") {
  const training::Example example = sheets();
  const LossList list{{.term = app::BinaryCrossEntropyTerm{}},
                      {.term = app::TopologyTerm{.side = 12, .every = 3, .after = 2}}};
  const auto weight = [&](std::int64_t epoch, std::int64_t step) {
    const auto terms =
        app::loss_terms(list, output_of(example), example, context(list, epoch, step));
    REQUIRE(terms.size() == 2);
    CHECK((terms[1].weight.item<double>() > 0.0 || terms[1].value.item<double>() == 0.0));
    return terms[1].weight.item<double>();
  };
  CHECK(weight(2, 0) > 0.0);
  CHECK(weight(5, 9) > 0.0);
  CHECK(weight(2, 1) == 0.0);
  CHECK(weight(1, 3) == 0.0);
}

TEST_CASE("the wait for topology is counted, and a step without it waits for nothing") {
  const training::Example example = sheets();
  const LossList list{{.term = app::BinaryCrossEntropyTerm{}},
                      {.term = app::TopologyTerm{.side = 12, .every = 2}}};
  app::LossContext given = context(list, 0, 1);
  app::loss_terms(list, output_of(example), example, given);
  CHECK(given.topology->waits().count == 0);
  CHECK(given.topology->waits().seconds == 0.0);
  given.step = 2;
  for (int i = 0; i < 20 && given.topology->waits().count == 0; ++i)
    app::loss_terms(list, output_of(example), example, given);
  CHECK(given.topology->waits().count > 0);
  CHECK(given.topology->waits().seconds > 0.0);
}

TEST_CASE("a soft skeleton of the loader is what is computed without it") {
  const LossList list{{.term = app::ClDiceTerm{}}, {.term = app::SkeletonTerm{}}};
  training::Example example = sheets();
  const auto without = app::loss_terms(list, output_of(example), example, context(list));
  // Of a sheet of four voxels between 6 and 10, three erosions: nothing but the outermost layers'
  // remains of it is skeleton, as the operation soft_skeleton gives it.
  example.targets["soft_skeleton"] = at::zeros_like(example.targets.at("label"));
  const auto other = app::loss_terms(list, output_of(example), example, context(list));
  for (const char* name : {"cldice", "skeleton"})
    CHECK(value_of(without, name) != value_of(other, name));
}

TEST_CASE("the composite at every scale holds more than at full size alone") {
  training::count_tensor_memory();
  const std::int64_t full = held_by(app::composite_loss(app::CompositeOutputs::full_scale, true));
  const std::int64_t every = held_by(app::composite_loss(app::CompositeOutputs::every_scale, true));
  CHECK(full > 0);
  CHECK(every > full);
}

TEST_CASE("what the loader has not made, and outputs that a term cannot judge, are named") {
  training::Example example = sheets();
  example.targets.erase("skeleton");
  example.targets.erase("betti");
  CHECK(refusal({{.term = app::SkeletonRecallTerm{}}}, example).find("put skeleton at the end") !=
        std::string::npos);
  CHECK(refusal({{.term = app::TopologyTerm{}}}, example).find("put betti_targets at the end") !=
        std::string::npos);
  CHECK(refusal({{.term = app::SkeletonRecallTerm{}, .on = "deep"}}, sheets())
            .find("leave out on: deep") != std::string::npos);
  CHECK(refusal({{.term = app::TopologyTerm{}, .on = "deep"}}, sheets()).find("on must be main") !=
        std::string::npos);
}

}  // namespace headrace
