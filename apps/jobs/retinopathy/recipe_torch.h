#pragma once

#include <headrace/apps/jobs/retinopathy/config.h>
#include <headrace/apps/learn/class_recipe_torch.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Grades of pictures: a member for each pair of classes, trained in turn, whose networks vote over
/// the whole test; or with `method: multi_class` one network, as the task classification has it.
class RetinopathyRecipe final : public ClassRecipe {
 public:
  RetinopathyRecipe(std::shared_ptr<const RetinopathyConfig> config, Device device);

  monitor::MemoryForecast plan() override;
  /// The pairs in their order, "pair-0-1", "pair-0-2", ..., with the records of their two classes.
  std::vector<training::Member> members() const override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  std::map<std::string, std::string> notes() const override;
  void recall(const std::map<std::string, std::string>& notes) override;

  /// All records of the test, once all pairs are done.
  std::optional<std::vector<std::int64_t>> common_test(
      std::span<const training::Member> done) const override;
  /// Scores by `vote.by`, [N, classes] of sum 1; where classes tie, that which the rule prefers is
  /// the larger by the last bit. Throws ConfigError where a pair is missing.
  training::Cases vote(std::span<const training::Cases> of_members,
                       std::span<const training::TensorMap> fitted) const override;
  /// By every scheme, that of the configuration first.
  std::vector<training::VoteMetric> metrics_of_vote(
      std::span<const training::TensorMap> fitted) const override;
  /// Of each pair the probability of its second class, and by how much the winner's score leads.
  std::vector<training::Reason> reasons(const training::Cases& voted) const override;
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap> fitted) const override;

 private:
  void check_task() const override;
  void require_records() const;
  std::int64_t class_count() const { return static_cast<std::int64_t>(classes().size()); }
  // By `vote.by` for each row of the pairs' probabilities.
  at::Tensor scores_of(const at::Tensor& pairs, const models::OneVsOneVote& vote) const;
  models::OneVsOneVote vote_with(std::span<const training::TensorMap> fitted) const;

  std::shared_ptr<const RetinopathyConfig> config_;
  std::vector<training::Member> pairs_;
  std::vector<std::int64_t> test_;       // of all pairs together
  std::vector<std::int64_t> frequency_;  // records of each class that were trained on
};

}  // namespace headrace::inline v1::app
