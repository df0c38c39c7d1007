#include <headrace/training/safetensors.h>
#include <headrace/training/vote.h>

#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>

namespace headrace::inline v1::training {

namespace {

constexpr const char* file_name = "test-scores.safetensors";
constexpr const char* of_targets = "target.";
constexpr const char* of_fitted = "fitted.";
constexpr const char* of_scores = "scores";

bool same_targets(const MemberScores& a, const MemberScores& b) {
  return std::ranges::equal(a.targets, b.targets, [](const auto& one, const auto& other) {
    return one.first == other.first && at::equal(one.second, other.second);
  });
}

bool same_shapes(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == b.dim() && a.dim() > 0 && a.sizes().slice(1) == b.sizes().slice(1);
}

// The rows that count, without what the device holds beside them.
Cases kept(const Cases& cases) {
  const auto rows = [&](const at::Tensor& tensor) {
    return cases.example.present.defined() ? tensor.index({cases.example.present}) : tensor;
  };
  Cases less{.scores = rows(cases.scores)};
  for (const auto& [name, target] : cases.example.targets)
    less.example.targets.emplace(name, rows(target).clone());
  return less;
}

}  // namespace

void ScoreKeeper::add(const Cases& cases) {
  cases_.push_back(kept(cases));
}

MemberScores ScoreKeeper::result() const {
  MemberScores all;
  const auto alike = [&](const Cases& cases) {
    return same_shapes(cases.scores, cases_.front().scores);
  };
  if (cases_.empty() || !std::ranges::all_of(cases_, alike)) return all;
  const auto join = [&](const auto& tensor_of) {
    std::vector<at::Tensor> parts;
    parts.reserve(cases_.size());
    for (const Cases& cases : cases_)
      parts.push_back(tensor_of(cases));
    return at::cat(parts).cpu();
  };
  all.scores = join([](const Cases& cases) { return cases.scores; });
  for (const auto& entry : cases_.front().example.targets)
    all.targets.emplace(entry.first, join([&](const Cases& cases) {
                          return cases.example.targets.at(entry.first);
                        }));
  return all;
}

void write_member_scores(const std::filesystem::path& folder, const MemberScores& scores) {
  if (!scores.scores.defined()) return;
  TensorFile file{.tensors = {{of_scores, scores.scores}}};
  for (const auto& [name, tensor] : scores.targets)
    file.tensors.emplace(of_targets + name, tensor);
  for (const auto& [name, tensor] : scores.fitted)
    file.tensors.emplace(of_fitted + name, tensor);
  write_safetensors(folder / file_name, file);
}

MemberScores read_member_scores(const std::filesystem::path& folder) {
  MemberScores scores;
  if (!std::filesystem::exists(folder / file_name)) return scores;
  for (const auto& [name, tensor] : read_safetensors(folder / file_name).tensors) {
    const std::string_view all = name;
    if (all == of_scores) scores.scores = tensor;
    if (all.starts_with(of_targets))
      scores.targets.emplace(all.substr(std::string_view(of_targets).size()), tensor);
    if (all.starts_with(of_fitted))
      scores.fitted.emplace(all.substr(std::string_view(of_fitted).size()), tensor);
  }
  return scores;
}

std::optional<Figures> vote_on_test(const Recipe& recipe, const Course& course,
                                    const std::vector<MemberScores>& members) {
  std::vector<Cases> cases;
  cases.reserve(members.size());
  for (const MemberScores& member : members) {
    if (!member.scores.defined() || !same_targets(member, members.front())) return std::nullopt;
    Example example{.targets = member.targets, .rows = member.scores.size(0)};
    cases.push_back({.scores = member.scores, .example = std::move(example)});
  }
  if (cases.empty()) return std::nullopt;
  const std::unique_ptr<Metric> metric = course.metric(Split::test, members.front().fitted);
  if (!metric) return std::nullopt;
  metric->add(recipe.vote(cases));
  return metric->result();
}

}  // namespace headrace::inline v1::training
