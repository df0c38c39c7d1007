#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/mechanics/trainee.h>

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace headrace::inline v1::bench {

namespace {

std::unique_ptr<models::Network> network_of(const Workload& workload, const Setting& setting) {
  at::manual_seed(1);
  auto network = workload.course->network();
  network->move_to(workload.device, setting.channels_last);
  network->set_training(true);
  if (setting.checkpointed) network->checkpoint(workload.blocks);
  return network;
}

training::Example example_of(const Workload& workload, const Setting& setting) {
  training::Example example = workload.example;
  if (!setting.channels_last) return example;
  for (auto& [name, tensor] : example.inputs)
    tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  return example;
}

}  // namespace

std::string name_of(const Setting& setting) {
  std::string name = training::name_of(setting.precision);
  if (setting.channels_last) name += ", channels-last";
  if (setting.cudnn_benchmark) name += ", cudnn_benchmark";
  if (setting.checkpointed) name += ", checkpointed";
  return name;
}

Trainee::Trainee(const Workload& workload, const Setting& setting)
    : workload_(workload),
      setting_(setting),
      network_(network_of(workload, setting)),
      example_(example_of(workload, setting)),
      stage_{.precision = setting.precision, .clip_norm = 1.0},
      optimizer_(network_->parameters(), stage_.optimizer),
      update_(*workload.course, *network_, optimizer_,
              {.device = workload.device,
               .clip_norm = stage_.clip_norm,
               .precision = setting.precision}) {}

void Trainee::wait() const {
  if (!workload_.device.is_cuda()) return;
  const c10::impl::VirtualGuardImpl guard(workload_.device.type());
  guard.getStream(workload_.device).synchronize();
}

training::StepOutcome Trainee::step() {
  const training::Moment moment{
      .stage = stage_, .training = true, .device = workload_.device, .random = random_};
  update_.accumulate(example_, moment, /*alone=*/true);
  return update_.finish();
}

training::StepOutcome Trainee::run(int steps) {
  training::set_device_modes(
      {.precision = setting_.precision, .cudnn_benchmark = setting_.cudnn_benchmark});
  at::manual_seed(5);
  training::StepOutcome last;
  for (int i = 0; i < steps; ++i)
    last = step();
  wait();
  return last;
}

double Trainee::rate(int steps) {
  run(1);
  const double begun = seconds();
  run(steps);
  return static_cast<double>(steps * *workload_.example.rows) / (seconds() - begun);
}

}  // namespace headrace::inline v1::bench
