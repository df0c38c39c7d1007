#pragma once

#include <headrace/apps/backend/phase_meter_torch.h>
#include <headrace/apps/backend/training_backend.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/member_run.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A recipe's members in a run folder, shown to a person.
class RecipeRun final : public TrainingRun {
 public:
  /// Asks the recipe for its plan. Throws what that throws.
  RecipeRun(const TrainingJob& job, const ChosenDevice& device,
            std::unique_ptr<training::Recipe> recipe);

  std::vector<std::int64_t> members() const override;
  std::string memory_key() const override;
  MeasuredMemory measure(const MeasureOptions& options) const override;
  MemoryPlan plan(const MeasuredMemory& measured) const override;
  PaceResult pace(const PaceOptions& options) const override;
  void try_out(SmokeTrial& trial) override { trial_ = &trial; }
  std::uint64_t open() override;
  FoldOutcome train(std::int64_t member, const std::filesystem::path& folder, RunView& view,
                    const monitor::MemoryWatch& memory, std::stop_token stop) override;
  std::vector<FoldOutcome> finished(const std::filesystem::path& folder) const override;
  std::optional<std::uint64_t> most_reserved() const override;
  Runtime runtime() const override { return runtime_; }
  std::uint64_t tensor_bytes() const override;
  std::optional<monitor::AllocatorCounters> allocator() const override;
  std::optional<TestReview> review(const std::filesystem::path& folder,
                                   std::stop_token stop) const override;

 private:
  LoaderOptions loader_options() const;
  // Of the first member, in recipe_memory_torch.cpp.
  class StageMemory;
  // Likewise, in recipe_pace_torch.cpp.
  class StagePace;
  std::int64_t trial_steps() const { return trial_ != nullptr ? trial_->steps() : 0; }
  training::MemberOptions member_options(const training::Member& member,
                                         const std::filesystem::path& folder) const;
  const training::Member& member(std::int64_t index) const;
  std::filesystem::path bad_samples_log(const std::filesystem::path& checkpoints) const;
  // Which records a member learns from, beside its weights.
  void keep_records(const training::Member& member, const std::filesystem::path& folder) const;
  std::vector<training::Member> done_members(const std::filesystem::path& folder) const;
  std::vector<training::VoteFigures> vote_of_kept_scores(const std::filesystem::path& folder) const;
  std::vector<FoldOutcome> outcomes_of(const std::vector<training::VoteFigures>& votes,
                                       const std::optional<std::string>& unread) const;
  // Bytes that the compute device has left under its limit, once what is unused was given back.
  std::uint64_t room_now() const;
  // Why the networks of all these cannot be held at once; empty where they can.
  std::string lack_for(const std::vector<training::Member>& done,
                       const std::filesystem::path& folder) const;
  // What a pass over the test shows.
  struct Seen {
    std::vector<training::VoteFigures> votes{};
    Gallery gallery{};
    std::optional<std::string> unread{};  // how many records none of them could see
  };
  // `done` have the records that they look at together as their test.
  std::optional<Seen> look_at_test(const std::vector<training::Member>& done,
                                   const std::filesystem::path& folder, std::stop_token stop) const;

  TrainingJob job_;
  ChosenDevice device_;
  Runtime runtime_;
  std::unique_ptr<training::Recipe> recipe_;
  monitor::MemoryForecast held_;  // data, and the process as it was before its first network
  std::vector<training::Member> members_;
  PhaseMeter phases_;
  SmokeTrial* trial_ = nullptr;  // null: a training
};

}  // namespace headrace::inline v1::app
