#pragma once

#include <headrace/apps/new/proposal.h>
#include <headrace/apps/task/task_settings.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// What both tasks are proposed alike: where the data are and how they are divided, size, network
/// width of arrays, batch, epochs. `most_side` is that of pictures on a GPU; without one they are
/// smaller.
void propose_task(Proposal& proposal, TaskSettings& task, const DataFacts& facts, int most_side);

}  // namespace headrace::inline v1::app
