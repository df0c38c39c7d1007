#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/train/run_settings.h>
#include <headrace/apps/train/training_settings.h>

#include <functional>
#include <memory>
#include <string>

namespace headrace::inline v1::app {

/// A job's configuration: what every job has, and in the type of the job's room the rest.
struct JobConfig : RunSettings {
  TrainingSettings training;

  virtual ~JobConfig() = default;

  /// Adds all keys beside `kind`.
  virtual void describe_keys(Fields& fields) = 0;
  /// Looks at keys that must fit each other, once all are read. Throws ConfigError.
  virtual void check() const { app::check(training); }
  /// Batches that are made ready ahead of the trainer.
  virtual int prefetch() const = 0;
  /// The loader that a training run has, for a bench.
  virtual LoaderJob loader_job() const = 0;

 protected:
  JobConfig() = default;
  JobConfig(const JobConfig&) = default;
  JobConfig& operator=(const JobConfig&) = default;
};

/// The sections of a configuration that are a job's own.
struct JobSections {
  std::function<void(Fields&)> data{};
  AugmentList& augment;
  std::function<void(Fields&)> loss{};
};

/// The keys of a job beside `kind`: its own sections among those that all jobs have.
void describe_job(Fields& fields, JobConfig& config, const JobSections& own);

/// A job, as far as it needs no LibTorch.
struct Job {
  std::string name{};                                    ///< The `kind` of its configurations.
  std::string help{};                                    ///< One line: what is learnt.
  std::function<std::shared_ptr<JobConfig>()> config{};  ///< With its defaults.
  Command prepare{};  ///< `headrace prepare <name>`, which makes data for it; empty: none.
};

}  // namespace headrace::inline v1::app
