#pragma once

#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/train/training_run.h>
#include <headrace/models/network.h>
#include <headrace/training/stratified_kfold.h>

#include <memory>
#include <vector>

namespace headrace::inline v1::app {

/// The folds of the job glaucoma.
class GlaucomaRun final : public TrainingRun {
 public:
  /// Checks data and folds; reads labels and split, but no pictures. Throws DataError, ConfigError.
  GlaucomaRun(const GlaucomaConfig& config, const ChosenDevice& device);

  std::vector<int> folds() const override;
  monitor::MemoryForecast forecast() const override;
  void open() override;
  FoldOutcome train_fold(int fold, const std::filesystem::path& folder, RunView& view,
                         const monitor::MemoryWatch& memory, std::stop_token stop) override;
  std::string results(const std::vector<std::pair<int, FoldOutcome>>& outcomes) const override;

 private:
  double test_accuracy(const std::filesystem::path& weights, models::Network& network,
                       Loader& test) const;

  GlaucomaConfig config_;
  ChosenDevice device_;
  Runtime runtime_;
  PlannedSource planned_;
  GlaucomaRows rows_;
  std::vector<training::Fold> folds_;
  GlaucomaRecords records_;
};

}  // namespace headrace::inline v1::app
