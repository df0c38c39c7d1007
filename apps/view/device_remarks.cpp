#include <headrace/apps/view/device_remarks.h>

#include <algorithm>
#include <functional>
#include <stdlib.h>

namespace headrace::inline v1::app {
namespace {

bool any_stage(const JobConfig& config, const std::function<bool(const TrainingSettings&)>& asks) {
  if (config.stages.empty()) return asks(config.training);
  return std::ranges::any_of(config.stages,
                             [&](const auto& stage) { return asks(stage->training); });
}

}  // namespace

std::vector<std::string> device_remarks(const JobConfig& config, const Device& device) {
  std::vector<std::string> remarks;
  if (device.is_cuda()) return remarks;
  if (any_stage(config, [](const TrainingSettings& stage) {
        return stage.precision == training::Precision::tf32;
      }))
    remarks.emplace_back("training.precision: tf32 is fp32 on this device: only a GPU has it");
  if (any_stage(config, [](const TrainingSettings& stage) { return stage.cudnn_benchmark; }))
    remarks.emplace_back("training.cudnn_benchmark does nothing on this device: cuDNN is a GPU's");
  return remarks;
}

void prepare_environment(const JobConfig& config) {
  if (any_stage(config, [](const TrainingSettings& stage) { return stage.deterministic; }))
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
}

}  // namespace headrace::inline v1::app
