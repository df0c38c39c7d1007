#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/recipe.h>

#include <vector>

namespace headrace::inline v1::training {

/// Throws `ConfigError` for stages that cannot be trained one after the other: for settings of one
/// (`check(Stage)`) or that must be the same in all, for what needs a validation where the course
/// has none, for a plateau that goes the wrong way (`Course::goal_of`), for names of parameters,
/// blocks or norms that the network has not. Trains nothing; what is frozen and checkpointed is
/// then as the last of them wants it.
HEADRACE_API void check_stages(const Course& course, const std::vector<Stage>& stages,
                               models::Network& network);

/// Whether a network has norms with running statistics, which learn from whole batches.
HEADRACE_API bool has_batch_norms(const models::Network& network);

}  // namespace headrace::inline v1::training
