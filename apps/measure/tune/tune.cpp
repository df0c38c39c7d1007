#include <headrace/apps/config/fields.h>
#include <headrace/apps/job/apply_preset.h>
#include <headrace/apps/measure/labelled.h>
#include <headrace/apps/measure/tune/tune.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

bool allows(const TuneOptions& options, const char* what) {
  return std::ranges::find(options.allow, what) != options.allow.end();
}

TuneBudget budget_of(const TuneOptions& options) {
  const int cores = headrace::usable_cores();
  if (options.cpu > cores)
    throw ConfigError(
        fmt::format("[tune] --cpu must be at most the cores that can be used, {}, "
                    "got {}",
                    cores, options.cpu));
  const std::uint64_t room = monitor::read_host_memory().room();
  return {.cores = options.cpu > 0 ? options.cpu : cores,
          .memory = options.memory > 0 ? options.memory : room,
          .batch = allows(options, "batch"),
          .decode = allows(options, "decode")};
}

fs::path output_of(const TuneOptions& options) {
  if (!options.output.empty()) return options.output;
  fs::path beside = options.config;
  return beside.replace_extension(".tuned.yaml");
}

// What stands for all cores is to stand for those that the run may use, here and elsewhere.
std::vector<KeyChange> set_threads(WholeConfiguration& configuration, int cores,
                                   const std::vector<Job>& jobs) {
  std::vector<KeyChange> changes;
  if (cores == 0) return changes;
  Node asked = configuration.asked;
  for (const char* key : {"threads.loader", "threads.torch"}) {
    if (configuration.number(key) != 0) continue;
    changes.push_back({.key = key, .old_value = "0", .new_value = std::to_string(cores)});
    apply_override(asked, fmt::format("{}={}", key, cores));
  }
  if (!changes.empty()) configuration = read_whole_configuration(jobs, asked);
  return changes;
}

bool has_kept(const Tuned& tuned) {
  return std::ranges::any_of(
      tuned.steps, [](const TunedStep& step) { return step.outcome == TuneOutcome::kept; });
}

// What is read back must be what was found.
std::string text_of(const Tuned& tuned, const std::vector<Job>& jobs) {
  const std::string text = tuned.configuration.yaml();
  const WholeConfiguration read =
      read_whole_configuration(jobs, parse_document(text, "the tuned configuration"));
  if (to_yaml(read.full) != to_yaml(tuned.configuration.full))
    throw Failure(ExitCode::bug,
                  "[tune] the tuned configuration must read back as it was found, it does not");
  return text;
}

}  // namespace

ExitCode tune(const TuneOptions& options, const CommandCall& call) {
  const std::vector<std::string> settings = settings_with_preset(
      options.preset, options.settings, [&](const std::vector<std::string>& all) {
        return to_yaml(read_whole_configuration(call.jobs, options.config, all).full);
      });
  WholeConfiguration configuration = read_whole_configuration(call.jobs, options.config, settings);
  const fs::path path = output_of(options);
  const ResultFile output(path, "[tune] --output", {options.config});
  const ResultFile json(options.json, "[tune] --json", {options.config, path});
  const TuneBudget budget = budget_of(options);
  std::vector<KeyChange> given = set_threads(configuration, options.cpu, call.jobs);
  TuneTrials trials(options, budget);
  const Tuned tuned = tune_configuration(
      configuration, {.jobs = call.jobs,
                      .budget = budget,
                      .given = std::move(given),
                      .seconds = 60.0 * options.minutes,
                      .measure = [&](const WholeConfiguration& whole,
                                     PaceInput input) { return trials.measure(whole, input); },
                      .tell = [](const std::string& line) { fmt::print(stderr, "{}\n", line); },
                      .stop = trials.stop()});
  const std::size_t columns = text_columns(STDOUT_FILENO);
  fmt::print("{}", tuned_text(tuned, columns));
  std::fflush(stdout);  // found in minutes: seen whatever becomes of the files
  json.write(tuned_json(tuned, options.config.string()));
  const bool leaves = !has_kept(tuned) && output.is_there();  // perhaps of a search that found more
  if (!leaves) output.write(text_of(tuned, call.jobs));
  fmt::print("{}", labelled("written",
                            leaves ? "nothing: no change was kept, " + path.string() + " stays"
                                   : path.string(),
                            columns));
  return trials.exit_code();
}

namespace {

constexpr double seconds_per_minute = 60.0;

void end_after(double seconds, std::stop_source& end, const std::stop_token& unneeded) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, unneeded, std::chrono::duration<double>(seconds), [] { return false; });
  if (!unneeded.stop_requested()) end.request_stop();
}

}  // namespace

PaceQuestion trial_question(const TuneOptions& options, const TuneBudget& budget, PaceInput input) {
  return {
      .input = input, .seconds = options.seconds, .cores = options.cpu, .memory = budget.memory};
}

TuneTrials::TuneTrials(const TuneOptions& options, const TuneBudget& budget)
    : options_(options),
      budget_(budget),
      on_signal_(signals_.token(), [this] { end_.request_stop(); }),
      timer_([this](const std::stop_token& unneeded) {
        end_after(seconds_per_minute * options_.minutes, end_, unneeded);
      }) {}

PaceResult TuneTrials::measure(const WholeConfiguration& configuration, PaceInput input) {
  PaceResult pace =
      pace_apart(configuration.yaml(), trial_question(options_, budget_, input), end_.get_token());
  const bool interrupted = pace.ended_with == ExitCode::interrupted ||
                           pace.ended_with == ExitCode::terminated ||
                           pace.ended_with == ExitCode::warned;
  // A signal of a terminal ends the trial too, perhaps before this process is told.
  if (interrupted) {
    trial_ended_with_ = pace.ended_with;
    signals_.request();
  }
  return pace;
}

ExitCode TuneTrials::exit_code() const {
  return signals_.received() != 0 ? signals_.exit_code() : trial_ended_with_;
}

}  // namespace headrace::inline v1::app
