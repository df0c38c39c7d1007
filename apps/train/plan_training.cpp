#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/config/document.h>
#include <headrace/apps/measure/data_pages.h>
#include <headrace/apps/measure/fitted_job.h>
#include <headrace/apps/measure/memory_switches.h>
#include <headrace/apps/measure/record_bytes.h>
#include <headrace/apps/train/plan_training.h>
#include <headrace/apps/view/files_needed.h>
#include <headrace/apps/view/setting_facts.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/system/file_limits.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

TrainingJob fitted_job(const std::vector<Job>& jobs, const std::string& yaml,
                       const std::optional<int>& member) {
  constexpr const char* name = "the configuration, fitted";
  TrainingJob job = read_training_text(jobs, yaml, name);
  if (!member) return job;
  const TrainingJob alone =
      read_training_text(jobs, yaml, name, {fmt::format("training.member={}", *member)});
  job.config = alone.config;
  job.shrunk = alone.shrunk;
  return job;
}

// With what is open already.
std::uint64_t files_of_process(const JobConfig& config, const ChosenDevice& device) {
  const auto files =
      monitor::read_file_limits({.open = files_needed(config, device.device.is_cuda())});
  return files ? files->needed : 0;
}

PlannedTraining plan(const TrainOptions& options, const CommandCall& call, TrainingJob job,
                     const ChosenDevice& device) {
  const bool resumes = !options.resume.empty();
  const PlanOptions wanted{
      .member = options.member,
      .kept = resumes ? options.resume / measured_memory_file : std::filesystem::path()};
  PlannedTraining training{.job = std::move(job)};
  training.planned = plan_run(training.job, device, *call.backend, wanted);
  if (!training.job.config->memory.fit || resumes) return training;
  // What was measured anew may take a little more than was expected: it is made smaller again.
  for (;;) {
    const MemoryPlan& plan = training.planned.plan;
    const std::vector<StageChange> changes = changes_to_fit(plan);
    if (changes.empty()) return training;
    for (std::size_t i = 0; i < changes.size(); ++i)
      if (changes[i].needed())
        training.fitted.push_back(fmt::format("memory.fit: stage {} has {}", plan.stages[i].name,
                                              to_text(plan, plan.stages[i], changes[i])));
    training.job = fitted_job(call.jobs, fitted_yaml(training.job, changes), options.member);
    training.planned = plan_run(training.job, device, *call.backend, wanted);
  }
}

}  // namespace

PlannedTraining plan_training(const TrainOptions& options, const CommandCall& call, TrainingJob job,
                              const ChosenDevice& device) {
  const std::uint64_t files = files_of_process(*job.config, device);
  try {
    PlannedTraining training = plan(options, call, std::move(job), device);
    training.files_needed = files;
    return training;
  } catch (const ResourceError&) {
    RunAdviser adviser({.files_needed = files});
    for (const monitor::Advice& advice : adviser.on_start())
      fmt::print(stderr, "{}\n", advice.line());
    throw;
  }
}

RunAdviserOptions adviser_options(const PlannedTraining& training, const RunStart& start) {
  RunAdviserOptions options{
      .no_gpu = start.no_gpu,
      .settings = setting_facts(training.job),
      .stage_settings = stage_setting_facts(training.job),
      .files_needed = training.files_needed,
      .began = start.began,
      .data_bytes =
          [yaml = training.job.yaml, name = training.job.name] {
            return find_data_files(parse_document(yaml, name)).bytes;
          },
      .decoded_bytes =
          [config = training.job.config, yaml = training.job.yaml, name = training.job.name] {
            return record_bytes(*config, parse_document(yaml, name)).decoded;
          }};
  if (const auto& time = training.job.config->goals.time) options.seconds_wanted = time->seconds;
  if (start.goes_on) return options;
  for (const PlannedStage& stage : training.planned.plan.stages)
    options.epochs += stage.epochs;
  options.epochs *= static_cast<std::int64_t>(training.planned.run->members().size());
  return options;
}

std::string way_out(const PlannedTraining& training, const PlannedStage& stage,
                    const TrainOptions& options, const std::vector<Job>& jobs) {
  const MemoryPlan& plan = training.planned.plan;
  if (!options.resume.empty()) {
    const std::optional<StageChange> change = evaluation_to_fit(plan, stage);
    return change ? "the nearest change that fits: " + to_text(plan, stage, *change)
                  : "raise the limit, or begin a new run with a smaller batch";
  }
  if (const std::optional<StageChange> change = change_to_fit(plan, stage))
    return fits_with(plan, stage, to_text(plan, stage, *change)) +
           "; memory.fit=true makes it by itself";
  return memory_verdict(plan, stage,
                        switches_to_fit({.job = training.job,
                                         .jobs = jobs,
                                         .stage = stage.name,
                                         .options = {.limit = room_for_tensors(plan)},
                                         .member = options.member},
                                        plan, stage));
}

}  // namespace headrace::inline v1::app
