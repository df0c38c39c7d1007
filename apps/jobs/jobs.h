#pragma once

#include <headrace/apps/jobs/job.h>

#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// All jobs, in the order of job_list.h. Thread-safe.
const std::vector<Job>& jobs();

/// The job of that name, or null.
const Job* find_job(std::string_view name);

}  // namespace headrace::inline v1::app
