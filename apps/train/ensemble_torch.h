#pragma once

#include <headrace/apps/jobs/read_job.h>
#include <headrace/apps/jobs/recipe_torch.h>
#include <headrace/apps/train/predictors_torch.h>
#include <headrace/apps/train/train_options.h>
#include <headrace/apps/train/training_backend.h>
#include <headrace/training/evaluation.h>

#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A member of a run, ready to look at data.
struct ReadyMember {
  std::unique_ptr<training::Course> course{};
  std::unique_ptr<models::Network> network{};
  training::EvaluationOptions options{};  ///< of a pass; its cases have origins
  training::Feed feed{};
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
  const std::string& kind() const { return job_.name; }
  /// What the validation of each member has fitted, in their order.
  const std::vector<training::TensorMap>& fitted() const { return fitted_; }
  /// The names of the classes; none where the notes have none.
  std::vector<std::string> class_names() const;
  /// ", 2 of 5 votes" for a person; empty where the run has one member.
  std::string votes() const;

  /// A network with the member's weights on the device. `records` are those of its test.
  ReadyMember ready(const Predictor& one, std::vector<std::int64_t> records = {}) const;

 private:
  int batch_;
  ChosenDevice device_;
  std::vector<Predictor> members_;
  TrainingJob job_;
  std::unique_ptr<training::Recipe> recipe_;
  std::vector<training::TensorMap> fitted_;
};

}  // namespace headrace::inline v1::app
