#pragma once

#include <headrace/engine/loader/loader.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/trainer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace headrace::test {

/// What `headrace train` makes of a job for one device, but for the files: rows are made here.
struct JobStep {
  std::string name{};
  std::shared_ptr<const training::Course> course{};
  training::Stage stage{};
  training::TrainerOptions options{};
  std::unique_ptr<models::Network> network{};
  std::shared_ptr<const Source> rows{};
};

JobStep glaucoma_step(c10::Device device);
JobStep leak_step(c10::Device device);

/// How a job is run.
struct StepVariant {
  training::Precision precision = training::Precision::fp32;
  std::int64_t accumulation = 1;  ///< a divisor of the six batches, else the epoch would end
  bool padded = false;            ///< batches have the field "valid", and the last is not full
};

/// Rows of an epoch: six batches of eight, the last not full.
constexpr std::int64_t epoch_rows = 46;

/// Trains all rows once and stops before the epoch would end, so nothing is read but what steps
/// read; then evaluates all rows and stops before the result. `on_step` is told of every step.
/// Throws what they throw.
void run_steps(JobStep& job, const StepVariant& variant, Device deliver_to,
               const std::function<void(const training::StepReport&)>& on_step);

}  // namespace headrace::test
