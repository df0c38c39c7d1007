#pragma once

#include <headrace/tests/apps/pytorch_run.h>

#include <memory>
#include <string>

// What the tests of a job beside PyTorch ask: tests/apps/<job>/<job>_pytorch_test.cpp.
namespace headrace::test {

/// The step after which a run in double has left PyTorch's; -1 for none.
std::int64_t leaves_at(const JobRecipe& recipe, const PytorchRun& run);

/// CHECKs each step of a run in float, begun from PyTorch's state.
void check_float_steps(const JobRecipe& recipe, const PytorchRun& run);

/// Whether a recipe that is wrong would be noticed in either precision.
bool noticed(const JobRecipe& wrong, const PytorchRun& run);

/// That of a task: its course's network and first stage, two steps an epoch.
JobRecipe recipe_of(std::shared_ptr<const training::Course> course);

/// CHECKs a job of pytorch_steps.py over whole batches, "classification", on one thread: 20 steps
/// in double, each in float, and that wrong recipes would be noticed. Skips without a Python.
void check_job_steps(const std::string& job, const JobRecipe& recipe);

/// The same over micro-batches with absent rows.
void check_window_steps(const std::string& job, const JobRecipe& recipe);

/// The same beside a network of a Python package, "classification:Timm". Skips without it.
void check_peer_steps(const std::string& job, const char* package, const JobRecipe& recipe);

// Recipes that are wrong.
JobRecipe with_decay_of_vectors(JobRecipe recipe);
JobRecipe with_epsilon(JobRecipe recipe, double epsilon);
JobRecipe with_clip(JobRecipe recipe, double norm);
JobRecipe blind_to_absence(JobRecipe recipe);

}  // namespace headrace::test
