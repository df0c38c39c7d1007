#include <headrace/engine/base/error.h>
#include <headrace/training/recipe.h>

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/ops/argmax.h>
#include <ATen/ops/softmax.h>

namespace headrace::inline v1::training {

namespace {

bool same_cases(const Cases& a, const Cases& b) {
  return a.first == b.first && a.scores.defined() && b.scores.defined() &&
         a.scores.sizes() == b.scores.sizes();
}

}  // namespace

std::vector<Stage> Course::stages() const {
  return {Stage{}};
}

void Course::try_network(models::Network&, at::Device) const {}

Example Course::example(const Batch& batch, const Moment& moment) const {
  return example_of_fields(batch, moment.device);
}

Output Course::forward(models::Network& network, const Example& example, const Moment&) const {
  return network.outputs(only(example.inputs, "input"));
}

bool Course::evaluates(Split) const {
  return true;
}

at::Tensor Course::scores(const Output& output) const {
  if (!output.main.defined() || output.main.dim() < 2) return {};
  return output.main.to(at::kFloat).softmax(1);
}

std::unique_ptr<Inference> Course::inference(Split) const {
  return std::make_unique<PlainInference>();
}

Selection Course::selected_by() const {
  return {};
}

Goal Course::goal_of(const std::string& figure) const {
  const Selection selection = selected_by();
  if (figure == selection.figure) return selection.goal;
  return figure == "loss" || figure.starts_with("loss_") ? Goal::minimum : Goal::maximum;
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

void Recipe::set_root(const std::filesystem::path& root) {
  throw ConfigError("[data] " + root.string() +
                    ": this kind takes no list of files whose paths could lie below it; leave "
                    "--root out");
}

Pipeline Recipe::prediction(const std::filesystem::path& data, const Feed&) const {
  throw ConfigError("[predict] " + data.string() + ": this kind predicts nothing of such data");
}

std::vector<std::int64_t> Recipe::test_on(const std::filesystem::path& data, const std::string&) {
  throw ConfigError("[evaluate] " + data.string() +
                    ": this kind cannot be evaluated on other data; its run folder has the figures "
                    "of its test (result.json)");
}

void Recipe::recall(const std::map<std::string, std::string>&) {}

std::optional<std::vector<std::int64_t>> Recipe::common_test(std::span<const Member> done) const {
  const auto same = [&](const Member& member) { return member.test == done.front().test; };
  if (done.empty() || !std::ranges::all_of(done, same)) return std::nullopt;
  return done.front().test;
}

Cases Recipe::vote(std::span<const Cases> of_members, std::span<const TensorMap>) const {
  if (of_members.empty()) throw ConfigError("[vote] there must be a member, got none");
  Cases voted = of_members.front();
  for (const Cases& cases : of_members.subspan(1)) {
    if (!same_cases(cases, voted))
      throw ConfigError("[vote] members must speak of the same cases, got " +
                        std::to_string(case_count(cases)) + " from " + std::to_string(cases.first) +
                        " beside " + std::to_string(case_count(voted)) + " from " +
                        std::to_string(voted.first));
    if (&cases == &of_members[1])
      voted.scores = voted.scores + cases.scores;
    else
      voted.scores.add_(cases.scores);
  }
  if (of_members.size() > 1) voted.scores.div_(static_cast<double>(of_members.size()));
  voted.output = {};
  return voted;
}

std::unique_ptr<Metric> Recipe::metric_of_vote(std::span<const TensorMap> fitted) const {
  return begin(Member{})->metric(Split::test, fitted.front());
}

std::vector<VoteMetric> Recipe::metrics_of_vote(std::span<const TensorMap> fitted) const {
  std::vector<VoteMetric> only;
  if (std::unique_ptr<Metric> metric = metric_of_vote(fitted))
    only.push_back({.metric = std::move(metric)});
  return only;
}

std::vector<Reason> Recipe::reasons(const Cases&) const {
  return {};
}

at::Tensor Recipe::predicted(const at::Tensor& scores, std::span<const TensorMap>) const {
  return at::argmax(scores, 1);
}

std::vector<Member> members_of(const Recipe& recipe) {
  std::vector<Member> members = recipe.members();
  if (members.empty()) throw ConfigError("[recipe] there must be a member, got none");
  std::set<std::string> names;
  for (const Member& member : members)
    if (member.name.empty() || member.name.starts_with('.') ||
        member.name.find('/') != std::string::npos || !names.insert(member.name).second)
      throw ConfigError("[recipe] each member's name must be a folder of its own, got \"" +
                        member.name + '"');
  return members;
}

}  // namespace headrace::inline v1::training
