#pragma once

#include <headrace/apps/commands/loader_trial.h>

#include <string>

namespace headrace::inline v1::app {

/// A loader trial for a person: rates, first batch, memory against the forecast, the consumer's
/// wait, a line for each stage, and the verdict. Ends with a line break.
std::string loader_report(const LoaderTrial& trial, const LoaderTrialOptions& options);

}  // namespace headrace::inline v1::app
