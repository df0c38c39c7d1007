#include <headrace/apps/backend/phase_meter_torch.h>
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/memory/memory_plan.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/training/memory/tensor_memory.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace headrace::inline v1::app {
namespace {

std::uint64_t gpu_limit(const TrainingJob& job, const Device& device) {
  const std::uint64_t all = headrace::detail::all_device_bytes(device);
  const std::optional<Bytes>& configured = job.config->memory.gpu;
  return configured ? std::min(all, configured->value) : all;
}

}  // namespace

PhaseMeter::PhaseMeter(const TrainingJob& job, const Device& device)
    : device_(torch_device(device)),
      limits_({.process = host_limit(job.config->memory.limit).bytes,
               .gpu = device.is_cuda() ? gpu_limit(job, device) : 0}) {}

void PhaseMeter::begin() {
  const training::TensorMemory memory = training::tensor_memory(device_);
  most_reserved_ = std::max(most_reserved_, memory.peak_reserved);
  retries_ = memory.retries;
  training::reset_peak_tensor_memory(device_);
}

monitor::PhaseMemory PhaseMeter::end() {
  const training::TensorMemory memory = training::tensor_memory(device_);
  const std::int64_t retries = memory.retries - retries_;
  begin();
  return {.allocated = memory.allocated,
          .peak = memory.peak,
          .reserved = memory.reserved,
          .peak_reserved = memory.peak_reserved,
          .inactive_split = memory.inactive_split,
          .retries = retries,
          .on_gpu = device_.is_cuda(),
          .process = monitor::read_process_memory()};
}

std::uint64_t PhaseMeter::most_reserved() const {
  return std::max(most_reserved_, training::tensor_memory(device_).peak_reserved);
}

void tell_phases(PhaseMeter& meter, RunView& view, training::MemberCallbacks& callbacks) {
  const auto tell = [&meter, &view](RunPhase phase, std::int64_t epoch = 0) {
    view.on_phase(
        {.phase = phase, .epoch = epoch, .memory = meter.end(), .limits = meter.limits()});
  };
  const auto epoch = std::make_shared<std::int64_t>(0);  // of the last step
  training::TrainerCallbacks& trainer = callbacks.trainer;
  callbacks.on_stage = [&meter,
                        first = std::move(callbacks.on_stage)](const training::StageStart& start) {
    if (first) first(start);
    meter.begin();
  };
  trainer.on_step = [epoch, first = std::move(trainer.on_step)](const training::StepReport& step) {
    *epoch = step.epoch;
    if (first) first(step);
  };
  trainer.on_train_epoch_end = [tell, epoch, first = std::move(trainer.on_train_epoch_end)] {
    if (first) first();
    tell(RunPhase::training, *epoch);
  };
  trainer.on_epoch = [tell,
                      then = std::move(trainer.on_epoch)](const training::EpochReport& report) {
    if (report.validation) tell(RunPhase::evaluation, report.epoch);
    if (then) then(report);
  };
  callbacks.on_stage_end = [tell, first = std::move(callbacks.on_stage_end)] {
    if (first) first();
    tell(RunPhase::end_of_stage);
  };
  callbacks.on_test = [tell,
                       first = std::move(callbacks.on_test)](const training::Evaluation& test) {
    if (first) first(test);
    tell(RunPhase::test);
  };
}

}  // namespace headrace::inline v1::app
