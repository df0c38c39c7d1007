#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/training/recipe.h>

#include <concepts>
#include <functional>
#include <memory>

namespace headrace::inline v1::app {

/// The recipe of a configuration, which is of the type that `Job::config` makes; batches are
/// delivered to `device`. May read labels and the like, but no samples.
using RecipeOf =
    std::function<std::unique_ptr<training::Recipe>(const JobConfig& config, Device device)>;

/// A program that trains one job, called by its `main` before anything else: the commands train,
/// predict, evaluate, export, bench loader, inspect and config, under the name of the file that was
/// started. Gives the exit code; what is thrown has been reported.
HEADRACE_API int run_job_program(int argc, char** argv, const Job& job,
                                 const RecipeOf& recipe) noexcept;

/// The same where the configuration is a `Config` and the recipe is made of one alone; `job` says
/// the rest.
template <std::derived_from<JobConfig> Config, std::derived_from<training::Recipe> Recipe>
int run_job_program(int argc, char** argv, Job job) {
  job.config = [] { return std::make_shared<Config>(); };
  return run_job_program(argc, argv, job, [](const JobConfig& config, Device) {
    return std::make_unique<Recipe>(dynamic_cast<const Config&>(config));
  });
}

}  // namespace headrace::inline v1::app
