#pragma once

#include <headrace/apps/inspect/data_facts.h>
#include <headrace/apps/jobs/job.h>

#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// A complete configuration of a kind for data that are looked at first: YAML, each key below a
/// line that says what it is and, where it was chosen, why. What a preset sets is said on standard
/// error, too. Throws ConfigError for a kind that
/// proposes none, and what look_at_data() throws.
std::string propose_configuration(const std::vector<Job>& jobs, std::string_view kind,
                                  DataQuestion question, const SurveyOptions& options);

}  // namespace headrace::inline v1::app
