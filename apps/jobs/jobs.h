#pragma once

#include <headrace/apps/job/job.h>

#include <vector>

namespace headrace::inline v1::app {

/// The house's own jobs, in the order of job_list.h. Thread-safe.
const std::vector<Job>& jobs();

}  // namespace headrace::inline v1::app
