#include <headrace/apps/inspect/propose.h>
#include <headrace/apps/jobs/read_job.h>
#include <headrace/apps/jobs/run_identity.h>
#include <headrace/apps/train/train.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// A word that is a file is one.
TrainingJob read_proposed_job(const TrainOptions& options, const std::vector<Job>& jobs) {
  if (fs::is_regular_file(options.config))
    throw ConfigError(fmt::format(
        "[train] --data is for a kind without a configuration, but {} is a file; leave --data out, "
        "or set data.train in the file",
        options.config.string()));
  const std::string text = propose_configuration(
      jobs, options.config.string(), {.data = options.data}, {.threads = headrace::usable_cores()});
  std::vector<std::string> settings = options.settings;
  if (options.member) settings.push_back(fmt::format("training.member={}", *options.member));
  return read_training_text(jobs, text, "proposed for " + options.data.string(), settings);
}

TrainingJob read_written_job(const TrainOptions& options, const std::vector<Job>& jobs) {
  const bool resumes = !options.resume.empty();
  const fs::path file = resumes ? options.resume / "config.yaml" : options.config;
  TrainingJob job = read_training_job(jobs, file, options.settings);
  if (resumes && !options.settings.empty())
    require_same_run(read_training_job(jobs, file, {}).identity, job.identity);
  if (!options.member) return job;
  std::vector<std::string> settings = options.settings;
  settings.push_back(fmt::format("training.member={}", *options.member));
  const TrainingJob alone = read_training_job(jobs, file, settings);
  job.config = alone.config;
  job.shrunk = alone.shrunk;
  return job;
}

}  // namespace

TrainingJob read_train_job(const TrainOptions& options, const std::vector<Job>& jobs) {
  TrainingJob job =
      options.data.empty() ? read_written_job(options, jobs) : read_proposed_job(options, jobs);
  return options.smoke > 0 && job.shrunk ? *job.shrunk : job;
}

}  // namespace headrace::inline v1::app
