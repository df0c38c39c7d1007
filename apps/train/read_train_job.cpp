#include <headrace/apps/job/apply_preset.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/job/run_identity.h>
#include <headrace/apps/new/propose_configuration.h>
#include <headrace/apps/train/train.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>

#include <memory>

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
  const auto [text, lines] =
      propose_configuration(jobs, options.config.string(), {.data = options.data, .check = false},
                            {.threads = headrace::usable_cores()});
  for (const std::string& line : lines)
    fmt::print(stderr, "{}\n", line);
  const std::string source = "proposed for " + options.data.string();
  std::vector<std::string> settings = settings_with_preset(
      options.preset, options.settings, [&](const std::vector<std::string>& all) {
        return read_training_text(jobs, text, source, all).yaml;
      });
  if (options.member) settings.push_back(fmt::format("training.member={}", *options.member));
  return read_training_text(jobs, text, source, settings);
}

TrainingJob read_written_job(const TrainOptions& options, const std::vector<Job>& jobs) {
  const bool resumes = !options.resume.empty();
  const fs::path file = resumes ? options.resume / "config.yaml" : options.config;
  std::vector<std::string> settings = settings_with_preset(
      options.preset, options.settings,
      [&](const std::vector<std::string>& all) { return read_training_job(jobs, file, all).yaml; });
  TrainingJob job = read_training_job(jobs, file, settings);
  if (resumes && !settings.empty()) {
    const TrainingJob began = read_training_job(jobs, file, {});
    require_same_run(began.identity, job.identity);
    job.defaults = began.defaults;
  }
  if (!options.member) return job;
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
  if (!options.resume.empty()) std::const_pointer_cast<JobConfig>(job.config)->goes_on = true;
  return options.smoke > 0 && job.shrunk ? *job.shrunk : job;
}

}  // namespace headrace::inline v1::app
