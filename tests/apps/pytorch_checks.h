#pragma once

#include <headrace/tests/apps/pytorch_run.h>

// What the tests of a job beside PyTorch ask: tests/apps/<job>/<job>_pytorch_test.cpp.
namespace headrace::test {

/// The step after which a run in double has left PyTorch's; -1 for none.
std::int64_t leaves_at(const JobRecipe& recipe, const PytorchRun& run);

/// CHECKs each step of a run in float, begun from PyTorch's state.
void check_float_steps(const JobRecipe& recipe, const PytorchRun& run);

/// Whether a recipe that is wrong would be noticed in either precision.
bool noticed(const JobRecipe& wrong, const PytorchRun& run);

// Recipes that are wrong.
JobRecipe with_decay_of_vectors(JobRecipe recipe);
JobRecipe with_epsilon(JobRecipe recipe, double epsilon);
JobRecipe with_clip(JobRecipe recipe, double norm);
JobRecipe blind_to_absence(JobRecipe recipe);

}  // namespace headrace::test
