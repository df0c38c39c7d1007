#pragma once

#include <headrace/apps/jobs/leak/parts_torch.h>
#include <headrace/apps/train/training_run.h>
#include <headrace/models/network.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// The job leak: one fold, the files are the split.
class LeakRun final : public TrainingRun {
 public:
  /// Checks the files; reads labels, but no segments. Throws DataError, ConfigError.
  LeakRun(const LeakConfig& config, const ChosenDevice& device);

  std::vector<int> folds() const override { return {0}; }
  monitor::MemoryForecast forecast() const override;
  void open() override;
  FoldOutcome train_fold(int fold, const std::filesystem::path& folder, RunView& view,
                         const monitor::MemoryWatch& memory, std::stop_token stop) override;
  std::string results(const std::vector<std::pair<int, FoldOutcome>>& outcomes) const override;

 private:
  LeakSources outlines() const;
  training::TrainerOptions trainer_options(std::int64_t steps_per_epoch, RunView& view,
                                           LeakScores& scores) const;
  FoldOutcome judge(const std::filesystem::path& weights, models::Network& network,
                    LeakLoaders& loaders) const;

  LeakConfig config_;
  ChosenDevice device_;
  Runtime runtime_;
  LeakFiles files_;
  PlannedSource training_;
  PlannedSource validation_;
  PlannedSource testing_;
  LeakSources sources_;
};

}  // namespace headrace::inline v1::app
