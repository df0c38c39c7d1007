#pragma once

#include <headrace/training/checkpoint_store.h>
#include <headrace/training/trainer.h>

#include <stop_token>

namespace headrace::inline v1::app {

/// Trains from the newest checkpoint on, or from the beginning; what early stopping has ended after
/// `patience` epochs (0: never) is not trained on.
training::RunResult go_on(training::Trainer& trainer, training::CheckpointStore& store,
                          int patience, std::stop_token stop);

}  // namespace headrace::inline v1::app
