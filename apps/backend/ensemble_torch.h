#pragma once

#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/job/recipe_torch.h>
#include <headrace/apps/job/stage_torch.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/evaluation/evaluation.h>
#include <headrace/training/recipe.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The weights of a member of a run.
struct Predictor {
  std::filesystem::path file{};
  training::BestWeights weights{};
  training::Member member{};  ///< its number and name, without records

  /// Throws CheckpointError for a file without that note.
  const std::string& note(const std::string& name) const;
};

/// The weights that paths stand for, by the numbers of their members: files, or those of a run's or
/// member's folder. They are of one run, each member once. Throws CheckpointError.
std::vector<Predictor> read_predictors(const std::vector<std::filesystem::path>& paths);

/// Trained members of a run, ready to look at data together.
class Team {
 public:
  /// A network with these weights on the device; `member` has the records of the test.
  void add(const training::Recipe& recipe, const training::Member& member,
           const training::BestWeights& weights, at::Device device);

  const training::Course& course() const { return *courses_.front(); }
  const std::vector<training::Voter>& voters() const { return voters_; }
  /// What the validation of each has fitted.
  std::vector<training::TensorMap> fitted() const;
  /// Of a pass over the test, on that device; its cases have origins.
  training::EvaluationOptions options(at::Device device) const;

 private:
  std::vector<std::unique_ptr<training::Course>> courses_;
  std::vector<std::unique_ptr<models::Network>> networks_;
  std::vector<training::Voter> voters_;
};

/// Trained members of one run with their recipe, as the notes of their weights say. Used by one
/// thread.
class Ensemble {
 public:
  /// Reads the weights and makes the recipe. Throws CheckpointError, ConfigError, DeviceError.
  Ensemble(const EnsembleOptions& options, const std::vector<Job>& jobs,
           const MakeRecipe& make_recipe);

  const std::vector<Predictor>& members() const { return members_; }
  training::Recipe& recipe() { return *recipe_; }
  const TrainingJob& job() const { return job_; }
  /// The names of the classes; none where the notes have none.
  std::vector<std::string> class_names() const;
  /// ", 2 of 5 votes" for a person; empty where the run has one member.
  std::string votes() const;

  /// All members with their networks on the device. `records` are those of the test.
  Team ready(const std::vector<std::int64_t>& records = {}) const;
  /// The same on the test of the run's own data, which are read as for a training; gives its
  /// records. Throws ConfigError where members have other tests, DataError where the data are
  /// others now.
  Team ready_on_own_test(std::vector<std::int64_t>& records);
  at::Device device() const { return torch_device(device_.device); }
  /// Of the data that the team looks at.
  training::Feed feed(const Team& team) const;

 private:
  int batch_;
  ChosenDevice device_;
  std::vector<Predictor> members_;
  TrainingJob job_;
  std::unique_ptr<training::Recipe> recipe_;
};

}  // namespace headrace::inline v1::app
