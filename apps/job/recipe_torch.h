#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/training/recipe.h>

#include <functional>
#include <memory>
#include <string_view>

namespace headrace::inline v1::app {

/// Makes the recipe of a job; `config` is of the type of the job's room, batches are delivered to
/// `device`. Reads labels and the like, but no samples. Throws ConfigError, DataError.
using MakeRecipe = std::function<std::unique_ptr<training::Recipe>(
    std::string_view job, const JobConfig& config, Device device)>;

/// That of the house's own jobs.
std::unique_ptr<training::Recipe> make_recipe(std::string_view job, const JobConfig& config,
                                              Device device);

}  // namespace headrace::inline v1::app
