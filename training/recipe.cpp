#include <headrace/engine/base/error.h>
#include <headrace/training/recipe.h>

#include <ATen/ops/softmax.h>

namespace headrace::inline v1::training {

std::vector<Stage> Course::stages() const {
  return {Stage{}};
}

Example Course::example(const Batch& batch, const Moment& moment) const {
  return example_of_fields(batch, moment.device);
}

Output Course::forward(models::Network& network, const Example& example, const Moment&) const {
  return {.main = network.forward(only(example.inputs, "input"))};
}

at::Tensor Course::scores(const Output& output) const {
  return output.main.to(at::kFloat).softmax(1);
}

std::unique_ptr<Inference> Course::inference() const {
  return std::make_unique<PlainInference>();
}

Selection Course::selected_by() const {
  return {};
}

std::uint64_t Course::step_bytes(const Stage&) const {
  return 0;
}

std::vector<Term> all_terms(const Course& course, const Output& output, const Example& example,
                            const Moment& moment) {
  std::vector<Term> terms = course.loss(output, example, moment);
  for (const models::NamedTensor& inside : output.losses)
    terms.push_back({.name = inside.name, .value = inside.tensor});
  return terms;
}

std::vector<Member> Recipe::members() const {
  return {Member{}};
}

Pipeline Recipe::prediction(const std::filesystem::path& data, const Feed&) const {
  throw ConfigError("[predict] " + data.string() + ": this kind predicts nothing of such data");
}

Cases Recipe::vote(std::span<const Cases> of_members) const {
  if (of_members.empty()) throw ConfigError("[vote] there must be a member, got none");
  Cases voted = of_members.front();
  for (const Cases& cases : of_members.subspan(1)) {
    if (cases.first != voted.first || cases.scores.sizes() != voted.scores.sizes())
      throw ConfigError("[vote] members must speak of the same cases, got " +
                        std::to_string(cases.scores.size(0)) + " from " +
                        std::to_string(cases.first) + " beside " +
                        std::to_string(voted.scores.size(0)) + " from " +
                        std::to_string(voted.first));
    voted.scores = voted.scores + cases.scores;
  }
  voted.scores = voted.scores / static_cast<double>(of_members.size());
  voted.output = {};
  return voted;
}

}  // namespace headrace::inline v1::training
