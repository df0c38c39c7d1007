#include <headrace/apps/train/backend_torch.h>

#include <headrace/apps/jobs/glaucoma/run_torch.h>
#include <headrace/apps/jobs/leak/run_torch.h>
#include <headrace/apps/train/choose_device_torch.h>

#include <ATen/Parallel.h>
#include <torch/version.h>

namespace headrace::inline v1::app {

std::string TorchBackend::version() const {
  return TORCH_VERSION;
}

void TorchBackend::set_threads(int threads) {
  at::set_num_threads(threads);
}

ChosenDevice TorchBackend::choose_device(DeviceChoice choice) {
  return app::choose_device(choice);
}

std::unique_ptr<TrainingRun> TorchBackend::make_run(const TrainingJob& job,
                                                    const ChosenDevice& device) {
  if (const auto* leak = std::get_if<LeakConfig>(&job.config)) {
    return std::make_unique<LeakRun>(*leak, device);
  }
  return std::make_unique<GlaucomaRun>(std::get<GlaucomaConfig>(job.config), device);
}

}  // namespace headrace::inline v1::app
