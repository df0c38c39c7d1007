#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/plan/options.h>
#include <headrace/training/recipe.h>
#include <headrace/training/trainer/trainer.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

namespace headrace::inline v1::training {

/// A stage that is about to be trained.
struct StageStart {
  const Member& member;
  const Stage& stage;
  std::int64_t number = 0;  ///< of the stage, from 0
  std::int64_t stages = 1;
  std::int64_t samples_per_epoch = 0;
  Loader& train;  ///< lives until `on_stage_end`, or `on_stage_lost`
};

struct MemberCallbacks {
  TrainerCallbacks trainer = {};
  std::function<void(const StageStart& start)> on_stage = {};
  std::function<void()> on_stage_end = {};
  /// In its place where an error ends the stage: whoever looks at the loader from another thread
  /// lets go of it. Must not throw.
  std::function<void()> on_stage_lost = {};
  /// Of the test, with the weights that were selected.
  std::function<void(const Evaluation& test)> on_test = {};
};

struct MemberOptions {
  std::filesystem::path folder = {};  ///< of the member's checkpoints
  at::Device device = at::kCPU;
  Device deliver_to = {};       ///< the same, as the loader knows it
  LoaderOptions loaders = {};   ///< of all three
  BadSamples bad_samples = {};  ///< records to train on that cannot be read
  /// Records to judge that cannot be read. `shrink`: figures are of the others.
  BadSamples unread = {};
  std::uint64_t seed = 0;  ///< the network's is this plus the member's index
  std::int64_t checkpoint_every = 0;
  int failed_saves = 3;
  std::int64_t trial_steps = 0;  ///< see TrainerOptions; of the test, batches
  /// What a checkpoint must agree on beside what is known here: member, records, stage, and the
  /// recipe's notes.
  std::map<std::string, std::string> identity = {};
  /// Names of it that have their default: a checkpoint of an earlier release may lack them.
  std::set<std::string> defaults = {};
  std::map<std::string, std::string> notes = {};  ///< beside the recipe's, in checkpoints
};

/// What a member came to.
struct MemberResult {
  RunStatus status = RunStatus::finished;
  std::string selected_by = {};
  std::int64_t best_epoch = -1;  ///< of the last stage that was judged, from 0; -1: none was
  Figures validation = {};       ///< of that epoch
  Figures test = {};             ///< of its weights; empty without records to test
  /// Why neither its weights nor its figures can be believed; empty: they can. Where no evaluation
  /// could be judged there are no best weights and no test; where the network gives no numbers of
  /// the test there are no scores for a vote.
  std::string refused = {};
  std::string unread = {};  ///< `UnreadRecords::words` of the test; empty: all could be read
  std::string unread_validation = {};  ///< likewise of the validation that selected the weights
  std::optional<models::ConfusionMatrix> confusion = {};  ///< of the test, if its metric has one
};

/// Trains a member through all its stages, from its newest checkpoint on where the folder has one,
/// and evaluates the weights that its validation has selected (the last where it has none) on the
/// test, with what that has fitted; where there are several members, the scores of the test are
/// kept beside the checkpoints for a vote. An interrupted one has no figures. Throws what the
/// trainer throws.
HEADRACE_API MemberResult train_member(const Recipe& recipe, const Member& member,
                                       const MemberOptions& options,
                                       const MemberCallbacks& callbacks = {},
                                       std::stop_token stop = {});

}  // namespace headrace::inline v1::training
