#include <headrace/apps/config/fields.h>
#include <headrace/apps/doctor/labelled.h>
#include <headrace/apps/doctor/tune.h>
#include <headrace/apps/doctor/tune_trials.h>
#include <headrace/apps/jobs/apply_preset.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/process_memory.h>

#include <algorithm>
#include <cstdio>
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

}  // namespace headrace::inline v1::app
