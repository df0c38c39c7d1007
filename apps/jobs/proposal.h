#pragma once

#include <headrace/apps/jobs/job.h>
#include <headrace/apps/task/data_facts.h>

#include <memory>

namespace headrace::inline v1::app {

/// A configuration that somebody's data have suggested.
struct Proposal {
  std::shared_ptr<JobConfig> config{};
  Reasons reasons{};
};

}  // namespace headrace::inline v1::app
