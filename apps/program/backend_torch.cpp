#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/apps/backend/recipe_run_torch.h>
#include <headrace/apps/memory/gpu_allocator_torch.h>
#include <headrace/apps/predict/predict_torch.h>
#include <headrace/apps/program/backend_torch.h>
#include <headrace/training/errors.h>

#include <string>

#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <dlfcn.h>

namespace headrace::inline v1::app {

std::string TorchBackend::version() const {
  return TORCH_VERSION;
}

std::string TorchBackend::cuda_version() const {
  if (::dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_GLOBAL) == nullptr) return {};
  const long version = at::detail::getCUDAHooks().versionCUDART();  // 13000
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

void TorchBackend::set_threads(int threads) {
  at::set_num_threads(threads);
}

void TorchBackend::limit_memory(const Device& device, std::uint64_t bytes) {
  if (!device.is_cuda()) return training::limit_cpu_tensors(bytes);
  if (bytes == gpu_limit_) return;
  gpu_limit_ = bytes;
  limit_gpu_tensors(device, bytes);
}

ChosenDevice TorchBackend::choose_device(DeviceChoice choice) {
  return app::choose_device(choice);
}

std::unique_ptr<TrainingRun> TorchBackend::make_run(const TrainingJob& job,
                                                    const ChosenDevice& device) {
  if (device.device.is_cuda() && job.config->memory.gpu)
    limit_memory(device.device, job.config->memory.gpu->value);
  return std::make_unique<RecipeRun>(job, device,
                                     make_recipe_(job.name, *job.config, device.device));
}

ExitCode TorchBackend::predict(const PredictOptions& options) {
  return app::predict(options, jobs_, make_recipe_);
}

ExitCode TorchBackend::evaluate(const EvaluateOptions& options) {
  return app::evaluate(options, jobs_, make_recipe_);
}

ExitCode TorchBackend::export_weights(const ExportOptions& options) {
  return app::export_weights(options, jobs_, make_recipe_);
}

ExitCode TorchBackend::run(const std::function<ExitCode()>& command) {
  try {
    return command();
  } catch (const training::CheckpointWriteError& error) {
    throw Failure(ExitCode::resources, error.what());
  } catch (const training::CheckpointError& error) {
    throw Failure(ExitCode::checkpoint, error.what());
  } catch (const training::NumericError& error) {
    throw Failure(ExitCode::numeric, error.what());
  } catch (const c10::OutOfMemoryError& error) {
    throw Failure(ExitCode::resources, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    if (what.find("deterministic") == std::string::npos) throw;
    throw Failure(ExitCode::configuration,
                  "[training] training.deterministic: every operation must have a form that gives "
                  "the same bits, got one without: " +
                      what + "; set it to false");
  }
}

}  // namespace headrace::inline v1::app
