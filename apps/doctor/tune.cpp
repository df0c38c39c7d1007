#include <headrace/apps/config/fields.h>
#include <headrace/apps/doctor/labelled.h>
#include <headrace/apps/doctor/tune.h>
#include <headrace/apps/jobs/apply_preset.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/apps/train/measure_pace.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/process_memory.h>

#include <algorithm>

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

// A signal of a terminal ends the trial too, perhaps before this process is told.
PaceResult paced(const std::string& yaml, const PaceQuestion& question, StopSignals& signals) {
  PaceResult pace = pace_apart(yaml, question, signals.token());
  const bool interrupted = pace.ended_with == ExitCode::interrupted ||
                           pace.ended_with == ExitCode::terminated ||
                           pace.ended_with == ExitCode::warned;
  if (interrupted) signals.request();
  return pace;
}

// What is read back must be what was found; the file of a person is not written over.
void write_configuration(const fs::path& file, const Tuned& tuned, const CommandCall& call) {
  const std::string text = tuned.configuration.yaml();
  write_file_atomically(file, text);
  const WholeConfiguration read = read_whole_configuration(call.jobs, file, {});
  if (to_yaml(read.full) != to_yaml(tuned.configuration.full))
    throw Failure(ExitCode::bug, fmt::format("[tune] {} must read back as it was found, it does "
                                             "not",
                                             file.string()));
}

}  // namespace

ExitCode tune(const TuneOptions& options, const CommandCall& call) {
  const fs::path output = output_of(options);
  std::error_code failed;
  if (fs::equivalent(output, options.config, failed))
    throw ConfigError(fmt::format("[tune] --output must be another file than {}, got the same",
                                  options.config.string()));
  const std::vector<std::string> settings = settings_with_preset(
      options.preset, options.settings, [&](const std::vector<std::string>& all) {
        return to_yaml(read_whole_configuration(call.jobs, options.config, all).full);
      });
  const WholeConfiguration configuration =
      read_whole_configuration(call.jobs, options.config, settings);
  const TuneBudget budget = budget_of(options);
  StopSignals signals;
  const auto measure = [&](const WholeConfiguration& whole, PaceInput input) {
    const PaceQuestion question{
        .input = input, .seconds = options.seconds, .cores = budget.cores, .memory = budget.memory};
    return paced(whole.yaml(), question, signals);
  };
  const Tuned tuned = tune_configuration(
      configuration, {.jobs = call.jobs,
                      .budget = budget,
                      .seconds = 60.0 * options.minutes,
                      .measure = measure,
                      .tell = [](const std::string& line) { fmt::print(stderr, "{}\n", line); },
                      .stop = signals.token()});
  write_configuration(output, tuned, call);
  const std::size_t columns = text_columns(STDOUT_FILENO);
  fmt::print("{}{}", tuned_text(tuned, columns), labelled("written", output.string(), columns));
  if (!options.json.empty())
    write_file_atomically(options.json, tuned_json(tuned, options.config.string()));
  return signals.exit_code();
}

}  // namespace headrace::inline v1::app
