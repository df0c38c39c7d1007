#pragma once

#include <headrace/engine/loader/loader.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/trainer/trainer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::test {

/// What `headrace train` makes of a job for one device, but for the files: rows are made here.
struct JobStep {
  std::shared_ptr<const training::Course> course{};
  training::Stage stage{};
  training::TrainerOptions options{};
  std::unique_ptr<models::Network> network{};
  std::shared_ptr<const Source> rows{};
};

/// The first stage of a course over these rows.
JobStep job_step(std::shared_ptr<const training::Course> course, c10::Device device,
                 std::shared_ptr<const Source> rows);

/// Rows of an epoch, with zeros in `field` and `label` int64 [], the classes in turn.
std::shared_ptr<const Source> zero_rows(FieldSpec field, std::int64_t classes);

/// How the step of a job is made: `JobStep <job>_step(c10::Device)`, which a job of job_list.h
/// defines in its folder of tests (STEPS of headrace_job_tests()).
struct JobStepMaker {
  std::string name;
  JobStep (*make)(c10::Device device);
};

/// Of all jobs that have one; never empty.
const std::vector<JobStepMaker>& job_steps();

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
