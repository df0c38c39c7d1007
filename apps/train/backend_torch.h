#pragma once

#include <headrace/apps/train/training_run.h>

namespace headrace::inline v1::app {

/// Training over LibTorch.
class TorchBackend final : public TrainingBackend {
 public:
  std::string version() const override;
  void set_threads(int threads) override;
  ChosenDevice choose_device(DeviceChoice choice) override;
  std::unique_ptr<TrainingRun> make_run(const TrainingJob& job,
                                        const ChosenDevice& device) override;
  ExitCode predict(const PredictOptions& options) override;
  ExitCode run(const std::function<ExitCode()>& command) override;
};

}  // namespace headrace::inline v1::app
