#include <headrace/apps/inspect/propose.h>
#include <headrace/apps/jobs/read_job.h>
#include <headrace/apps/jobs/run_identity.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/run/memory_guard.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/train/device_remarks.h>
#include <headrace/apps/train/results.h>
#include <headrace/apps/train/tensorboard_log.h>
#include <headrace/apps/train/train.h>
#include <headrace/apps/train/training_backend.h>
#include <headrace/engine/runtime/runtime.h>

#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

RunFolder open_folder(const TrainOptions& options, const TrainingJob& job) {
  if (!options.resume.empty()) return RunFolder::open(options.resume);
  return RunFolder::create(job.config->runs, RunFolder::dated_name(job.name));
}

class TrainCommand {
 public:
  TrainCommand(const TrainOptions& options, const CommandCall& call)
      : options_(options),
        arguments_(call.arguments),
        backend_(*call.backend),
        level_(log_level(options.log_level)),
        job_(read_train_job(options, call.jobs)) {}

  ExitCode run() {
    cv::setNumThreads(0);
    prepare_environment(*job_.config);
    // What sources say before there is a run folder goes to its log when there is one.
    const DataLogGuard early([this](headrace::LogLevel, std::string_view line) {
      fmt::print(stderr, "{}\n", line);
      early_lines_.emplace_back(line);
    });
    backend_.set_threads(torch_threads());
    const ChosenDevice device = backend_.choose_device(job_.config->device);
    const std::unique_ptr<TrainingRun> run = backend_.make_run(job_, device);
    const std::optional<Bytes> configured = job_.config->memory;
    const monitor::MemoryLimit limit = monitor::tightest_memory_limit(
        configured ? std::optional(configured->value) : std::nullopt);
    const monitor::MemoryForecast forecast = run->forecast();
    forecast.require(limit);
    if (options_.dry_run) {
      fmt::print("{}", forecast.table(limit));
      return ExitCode::done;
    }
    return run_in_folder(*run, device, limit, forecast);
  }

 private:
  int torch_threads() const {
    const int threads = job_.config->threads.torch;
    return threads > 0 ? threads : headrace::usable_cores();
  }

  ExitCode run_in_folder(TrainingRun& run, const ChosenDevice& device,
                         const monitor::MemoryLimit& limit,
                         const monitor::MemoryForecast& forecast) {
    RunFolder folder = open_folder(options_, job_);
    folder.write_config(job_.yaml);
    folder.write_command(arguments_);
    folder.write_environment({{"headrace", HEADRACE_VERSION}, {"LibTorch", backend_.version()}});
    RunView view(folder, device.device.is_cuda(), level_,
                 {.every = job_.config->log_every, .tensorboard = job_.config->tensorboard});
    for (const std::string& line : early_lines_)
      view.note(line);
    view.info("run folder " + folder.path().string());
    view.info(fmt::format("device {}; {} threads for LibTorch", device.why, torch_threads()));
    for (const std::string& remark : device_remarks(*job_.config, device.device))
      view.warn(remark);
    view.info(forecast.line(limit));
    try {
      return train_members(run, folder, view, limit);
    } catch (const std::exception& error) {
      view.note_error(error.what());
      throw;
    }
  }

  ExitCode train_members(TrainingRun& run, const RunFolder& folder, RunView& view,
                         const monitor::MemoryLimit& limit) {
    StopSignals signals;
    MemoryGuard guard(limit, signals, [&view](const std::string& line) { view.warn(line); });
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t bytes = run.open();
    view.data_read(bytes,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    std::vector<FoldOutcome> outcomes;
    for (const std::int64_t member : run.members()) {
      const FoldOutcome outcome =
          run.train(member, folder.checkpoints(), view, guard.watch(), signals.token());
      if (outcome.interrupted) return stopped(folder, view, signals, guard);
      outcomes.push_back(outcome);
    }
    // What was trained is written before anything else can fail.
    const std::vector<FoldOutcome> finished = run.finished(folder.checkpoints());
    write_run_result(folder.path(), finished, {});
    write_results(folder.path(), finished, {});
    const std::optional<TestReview> review = run.review(folder.checkpoints(), signals.token());
    if (!review) return stopped(folder, view, signals, guard);
    write_run_result(folder.path(), finished, review->vote);
    write_results(folder.path(), finished, *review);
    if (job_.config->tensorboard)
      write_test_events(folder.tensorboard(), finished, *review,
                        [&view](const std::string& line) { view.warn(line); });
    const std::string text = results_text(outcomes, review->vote);
    view.note(text);
    fmt::print("{}\n", text);
    view.info(fmt::format("figures and curves: results.csv, results.png{} in {}",
                          review->gallery.records > 0 ? ", worst mistakes: worst.png" : "",
                          folder.path().string()));
    return ExitCode::done;
  }

  ExitCode stopped(const RunFolder& folder, RunView& view, const StopSignals& signals,
                   const MemoryGuard& guard) const {
    std::vector<std::string> words{arguments_.front(), "train", "--resume", folder.path().string()};
    if (options_.member) words.insert(words.end(), {"--member", std::to_string(*options_.member)});
    view.tell("stopped and saved; to go on: " + shell_quoted(words));
    if (guard.over()) return ExitCode::resources;
    return signals.exit_code();
  }

  const TrainOptions& options_;
  const std::vector<std::string>& arguments_;
  TrainingBackend& backend_;
  LogLevel level_;
  TrainingJob job_;
  std::vector<std::string> early_lines_;
};

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

}  // namespace

TrainingJob read_train_job(const TrainOptions& options, const std::vector<Job>& jobs) {
  if (!options.data.empty()) return read_proposed_job(options, jobs);
  const bool resumes = !options.resume.empty();
  const fs::path file = resumes ? options.resume / "config.yaml" : options.config;
  TrainingJob job = read_training_job(jobs, file, options.settings);
  if (resumes && !options.settings.empty())
    require_same_run(read_training_job(jobs, file, {}).identity, job.identity);
  if (!options.member) return job;
  std::vector<std::string> settings = options.settings;
  settings.push_back(fmt::format("training.member={}", *options.member));
  job.config = read_training_job(jobs, file, settings).config;
  return job;
}

ExitCode train(const TrainOptions& options, const CommandCall& call) {
  return TrainCommand(options, call).run();
}

}  // namespace headrace::inline v1::app
