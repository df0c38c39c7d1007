#pragma once

#include <headrace/benchmarks/mechanics/workload.h>
#include <headrace/engine/base/random.h>
#include <headrace/training/optimizer/update.h>

#include <memory>
#include <string>

namespace headrace::inline v1::bench {

/// How a step is computed.
struct Setting {
  training::Precision precision = training::Precision::fp32;
  bool channels_last = false;
  bool cudnn_benchmark = false;
  bool checkpointed = false;
};

/// "bf16, channels-last, cudnn_benchmark": the name of its contender.
std::string name_of(const Setting& setting);

/// A network, its optimiser and its step as the trainer has them: AdamW, gradients clipped. All
/// trainees of a workload start from the same weights.
class Trainee {
 public:
  /// The workload outlives it.
  Trainee(const Workload& workload, const Setting& setting);

  /// The last of `steps` steps, which is waited for. LibTorch's modes are those of the setting from
  /// then on.
  training::StepOutcome run(int steps);
  /// Samples a second of `steps` steps: from one wait for the device to the next.
  double rate(int steps);

 private:
  training::StepOutcome step();
  void wait() const;

  const Workload& workload_;
  Setting setting_;
  std::unique_ptr<models::Network> network_;
  training::Example example_;
  training::Stage stage_;
  training::Optimizer optimizer_;
  training::Update update_;
  Random random_;
};

}  // namespace headrace::inline v1::bench
