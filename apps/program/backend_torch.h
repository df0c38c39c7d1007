#pragma once

#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/job/recipe_torch.h>
#include <headrace/training/memory/tensor_memory.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// Training over LibTorch.
class TorchBackend final : public TrainingBackend {
 public:
  /// The jobs that it can train.
  TorchBackend(std::vector<Job> jobs, MakeRecipe make_recipe)
      : jobs_(std::move(jobs)), make_recipe_(std::move(make_recipe)) {
    training::count_tensor_memory();
  }

  std::string version() const override;
  std::string cuda_version() const override;
  void set_threads(int threads) override;
  void limit_memory(const Device& device, std::uint64_t bytes) override;
  ChosenDevice choose_device(DeviceChoice choice) override;
  std::unique_ptr<TrainingRun> make_run(const TrainingJob& job,
                                        const ChosenDevice& device) override;
  ExitCode predict(const PredictOptions& options) override;
  ExitCode evaluate(const EvaluateOptions& options) override;
  ExitCode export_weights(const ExportOptions& options) override;
  ExitCode run(const std::function<ExitCode()>& command) override;

 private:
  std::vector<Job> jobs_;
  MakeRecipe make_recipe_;
  std::uint64_t gpu_limit_ = 0;  // bytes of tensors; 0: none
};

}  // namespace headrace::inline v1::app
