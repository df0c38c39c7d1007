#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/job/job.h>
#include <headrace/apps/task/model_settings.h>

#include <functional>

namespace headrace::inline v1::app {

/// The sections of a configuration that are a job's own.
struct JobSections {
  std::function<void(Fields&)> data{};
  AugmentList& augment;
  ModelSettings* model = nullptr;  ///< null: the network is not to be chosen
  std::function<void(Fields&)> loss{};
};

/// The keys of a job beside `kind`: its own sections among those that all jobs have.
void describe_job(Fields& fields, JobConfig& config, const JobSections& own);

}  // namespace headrace::inline v1::app
