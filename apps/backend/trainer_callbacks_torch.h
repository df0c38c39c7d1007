#pragma once

#include <headrace/apps/view/run_view.h>
#include <headrace/training/trainer/trainer.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a trainer is to call so that the view shows it; both outlive the trainer's run. `classes`
/// are the names of the classes, or empty.
training::TrainerCallbacks trainer_callbacks(RunView& view, const monitor::MemoryWatch& memory,
                                             const std::vector<std::string>& classes);

}  // namespace headrace::inline v1::app
