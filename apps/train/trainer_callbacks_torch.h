#pragma once

#include <headrace/apps/train/run_view.h>
#include <headrace/training/trainer.h>

namespace headrace::inline v1::app {

/// What a trainer is to call so that the view shows it. Both outlive the trainer's run.
training::TrainerCallbacks trainer_callbacks(RunView& view, const monitor::MemoryWatch& memory);

}  // namespace headrace::inline v1::app
