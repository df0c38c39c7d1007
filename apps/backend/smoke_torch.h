#pragma once

#include <headrace/apps/backend/smoke_trial.h>
#include <headrace/training/member_run.h>

#include <string>

namespace headrace::inline v1::app {

/// Has the trial told of all that the callbacks are told of, behind them. `member` is its name for
/// a person. The trial outlives the callbacks.
void also_tell(SmokeTrial& trial, training::MemberCallbacks& callbacks, const std::string& member);

}  // namespace headrace::inline v1::app
