#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/jobs/recipe_torch.h>
#include <headrace/apps/train/train_options.h>

#include <vector>

namespace headrace::inline v1::app {

/// `headrace evaluate`: the figures of a run's weights on labelled data, as a table and as JSON.
/// Weights of several members are judged one by one and by their vote.
ExitCode evaluate(const EvaluateOptions& options, const std::vector<Job>& jobs,
                  const MakeRecipe& make_recipe);

}  // namespace headrace::inline v1::app
