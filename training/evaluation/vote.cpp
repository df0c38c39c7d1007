#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/evaluation/vote.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

namespace headrace::inline v1::training {

namespace {

constexpr const char* file_name = "test-scores.safetensors";
constexpr const char* of_targets = "target.";
constexpr const char* of_fitted = "fitted.";
constexpr const char* of_scores = "scores";
constexpr const char* of_present = "present";
constexpr const char* of_records = "records";

bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || at::equal(a, b));
}

at::Tensor records_of(const std::vector<Origin>& origins) {
  if (origins.empty()) return {};
  std::vector<std::int64_t> places;
  places.reserve(2 * origins.size());
  for (const Origin& origin : origins)
    places.insert(places.end(), {origin.index, origin.part});
  return at::tensor(places, at::kLong).view({-1, 2});
}

MemberScores on_host(const Cases& cases) {
  const std::int64_t rows = cases.scores.size(0);
  MemberScores part{.scores = cases.scores.to(at::kCPU, at::kFloat, false, true),
                    .records = records_of(cases.origins)};
  // A copy: what an example holds may be on loan from the loader.
  part.present = cases.example.present.defined()
                     ? cases.example.present.to(at::kCPU, at::kBool, false, true)
                     : at::ones({rows}, at::kBool);
  for (const auto& [name, target] : cases.example.targets)
    if (target.dim() > 0 && target.size(0) == rows)
      part.targets.emplace(name, target.to(at::kCPU, target.scalar_type(), false, true));
  return part;
}

bool fits(const MemberScores& part, const MemberScores& first) {
  return part.scores.sizes().slice(1) == first.scores.sizes().slice(1) &&
         part.records.defined() == first.records.defined();
}

// Targets that every part has a row of for each case.
std::vector<std::string> targets_of(const std::vector<MemberScores>& parts) {
  std::vector<std::string> names;
  for (const auto& [name, first] : parts.front().targets) {
    const at::IntArrayRef shape = first.sizes().slice(1);
    if (std::ranges::all_of(parts, [&, &wanted = name](const MemberScores& part) {
          const auto found = part.targets.find(wanted);
          return found != part.targets.end() && found->second.sizes().slice(1) == shape;
        }))
      names.push_back(name);
  }
  return names;
}

// Those that are the same with all members.
TensorMap common_targets(std::span<const Cases> of_members) {
  TensorMap common = of_members.front().example.targets;
  for (const Cases& cases : of_members.subspan(1))
    std::erase_if(common, [&](const auto& entry) {
      const auto found = cases.example.targets.find(entry.first);
      return found == cases.example.targets.end() || !same(found->second, entry.second);
    });
  return common;
}

bool says_nothing(const MemberScores& member) {
  NanCases nan;
  nan.add({.scores = member.scores, .example = {.present = member.present}});
  return nan.count() > 0;
}

bool same_records(const std::vector<MemberScores>& members) {
  return std::ranges::all_of(members, [&](const MemberScores& member) {
    return member.scores.defined() && member.scores.size(0) == members.front().scores.size(0) &&
           same(member.records, members.front().records);
  });
}

}  // namespace

void ScoreKeeper::add(const Cases& cases) {
  if (!keeps_) return;
  keeps_ = cases.scores.defined() && cases.scores.dim() > 0 && cases.scores.dim() < 3;
  if (keeps_) parts_.push_back(on_host(cases));
  keeps_ = keeps_ && fits(parts_.back(), parts_.front());
  if (!keeps_) parts_.clear();
}

MemberScores ScoreKeeper::result() const {
  MemberScores all;
  if (parts_.empty()) return all;
  const auto join = [&](const auto& tensor_of) {
    std::vector<at::Tensor> tensors;
    tensors.reserve(parts_.size());
    for (const MemberScores& part : parts_)
      tensors.push_back(tensor_of(part));
    return at::cat(tensors);
  };
  all.scores = join([](const MemberScores& part) { return part.scores; });
  all.present = join([](const MemberScores& part) { return part.present; });
  if (parts_.front().records.defined())
    all.records = join([](const MemberScores& part) { return part.records; });
  for (const std::string& name : targets_of(parts_))
    all.targets.emplace(name,
                        join([&](const MemberScores& part) { return part.targets.at(name); }));
  return all;
}

void write_member_scores(const std::filesystem::path& folder, const MemberScores& scores) {
  if (!scores.scores.defined()) return;
  TensorFile file{.tensors = {{of_scores, scores.scores}, {of_present, scores.present}}};
  if (scores.records.defined()) file.tensors.emplace(of_records, scores.records);
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
    if (all == of_present) scores.present = tensor;
    if (all == of_records) scores.records = tensor;
    if (all.starts_with(of_targets))
      scores.targets.emplace(all.substr(std::string_view(of_targets).size()), tensor);
    if (all.starts_with(of_fitted))
      scores.fitted.emplace(all.substr(std::string_view(of_fitted).size()), tensor);
  }
  return scores;
}

at::Tensor counted_by_one(std::span<const Cases> of_members) {
  at::Tensor counted;
  for (const Cases& cases : of_members) {
    const at::Tensor& present = cases.example.present;
    if (!present.defined()) return {};
    counted = counted.defined() ? counted.logical_or(present) : present;
  }
  return counted;
}

Cases vote_of(const Recipe& recipe, std::span<Cases> of_members,
              std::span<const TensorMap> fitted) {
  const TensorMap targets = common_targets(of_members);
  for (Cases& cases : of_members)
    cases.example.targets = targets;
  Cases voted = recipe.vote(of_members, fitted);
  voted.example.present = counted_by_one(of_members);
  voted.example.rows.reset();  // those of one member
  return voted;
}

VoteCounts::VoteCounts(std::vector<VoteMetric> metrics) {
  for (VoteMetric& metric : metrics)
    ways_.push_back({.way = std::move(metric)});
}

void VoteCounts::add(const Cases& voted, std::int64_t first) {
  if (!voted.scores.defined() || voted.example.targets.empty()) return ways_.clear();
  const std::int64_t behind = first + case_count(voted);
  if (seen_ <= first) {
    nan_.add(voted);
    seen_ = behind;
  }
  for (Counted& one : ways_) {
    if (one.behind > first) continue;  // before memory ran out
    one.way.metric->add(voted);
    one.behind = behind;
  }
}

std::vector<VoteFigures> VoteCounts::result() {
  std::vector<VoteFigures> all;
  for (Counted& one : ways_) {
    Figures figures = one.way.metric->result();
    all.push_back({.name = one.way.name, .figures = std::move(figures), .nan = nan_.count()});
    if (all.back().nan > 0)
      all.back().figures = not_numbers(std::move(all.back().figures));
    else
      all.back().confusion = one.way.metric->confusion();
  }
  return all;
}

TensorMap mean_of(std::span<const TensorMap> fitted) {
  TensorMap sums;
  std::map<std::string, int> counts;
  for (const TensorMap& one : fitted)
    for (const auto& [name, tensor] : one) {
      at::Tensor& sum = sums[name];
      sum = sum.defined() ? sum + tensor : tensor;
      ++counts[name];
    }
  for (auto& [name, sum] : sums)
    if (counts[name] > 1) sum = sum / counts[name];
  return sums;
}

std::vector<VoteFigures> vote_on_test(const Recipe& recipe,
                                      const std::vector<MemberScores>& members) {
  if (members.empty() || !members.front().scores.defined() || !same_records(members) ||
      std::ranges::any_of(members, says_nothing))
    return {};
  std::vector<TensorMap> fitted;
  std::vector<Cases> cases;
  for (const MemberScores& member : members) {
    fitted.push_back(member.fitted);
    cases.push_back({.scores = member.scores,
                     .example = {.targets = member.targets, .present = member.present},
                     .member = member.member});
  }
  VoteCounts counts(recipe.metrics_of_vote(fitted));
  counts.add(vote_of(recipe, cases, fitted), 0);
  return counts.result();
}

}  // namespace headrace::inline v1::training
