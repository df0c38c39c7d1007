#include <headrace/apps/doctor/ceilings.h>
#include <headrace/apps/doctor/doctor.h>
#include <headrace/apps/doctor/environment.h>
#include <headrace/apps/doctor/whole_configuration.h>
#include <headrace/apps/train/data_pages.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/monitor/process_memory.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

CeilingFacts facts_of(const WholeConfiguration& configuration) {
  const bool cached = configuration.value("data.cache.memory").value_or("0B") != "0B" ||
                      configuration.value("data.cache.disk").value_or("0B") != "0B";
  return {.prefetch = configuration.number("data.prefetch").value_or(0),
          .data_bytes = find_data_files(configuration.asked).bytes,
          .memory_room = monitor::read_host_memory().room(),
          .resident = configuration.value("data.resident").value_or(""),
          .has_stage = configuration.value("data.stage").has_value(),
          .can_cache = configuration.value("data.cache.memory").has_value() && !cached};
}

PaceResult measure(const WholeConfiguration& configuration, PaceInput input, double seconds) {
  fmt::print(stderr, "input from {}\n", to_string(input));
  return pace_apart(configuration.yaml(), {.input = input, .seconds = seconds});
}

std::string text_of(const std::vector<Finding>& environment) {
  std::string text;
  for (const Finding& finding : environment)
    text += fmt::format("{}: {} is {}, wanted {}; {}\n", monitor::to_string(finding.severity),
                        finding.what, finding.found, finding.wanted, finding.way_out);
  return text;
}

ExitCode look_at_environment() {
  const std::vector<Finding> environment = check_environment({});
  fmt::print("{}", environment.empty() ? "environment: nothing found\n" : text_of(environment));
  const bool wrong = std::ranges::find(environment, monitor::Severity::error, &Finding::severity) !=
                     environment.end();
  return wrong ? ExitCode::resources : ExitCode::done;
}

// Of what all others need; the code is that of the trial.
PaceResult require_pace(PaceResult result) {
  if (result.failed.empty()) return result;
  throw Failure(result.ended_with,
                fmt::format("[doctor] input from {} must have a pace, got none: {}",
                            to_string(result.input), result.failed));
}

}  // namespace

ExitCode doctor(const DoctorOptions& options, const CommandCall& call) {
  if (!options.trial.answer.empty()) return pace_here(options.config, options.trial, call);
  if (options.config.empty()) return look_at_environment();
  const WholeConfiguration configuration =
      read_whole_configuration(call.jobs, options.config, options.settings);
  Ceilings ceilings;
  if (configuration.trains)
    ceilings.device = require_pace(measure(configuration, PaceInput::device_only, options.seconds));
  // Storage first: what it reads is in memory then.
  ceilings.storage = measure(configuration, PaceInput::storage, options.seconds);
  ceilings.memory = require_pace(measure(configuration, PaceInput::memory, options.seconds));
  const std::vector<Finding> environment = check_environment({});
  const Diagnosis diagnosis = diagnose(ceilings, facts_of(configuration), environment);
  fmt::print("{}{}", text_of(environment), ceilings_text(ceilings, diagnosis));
  if (!options.json.empty())
    write_file_atomically(options.json,
                          ceilings_json(ceilings, diagnosis, options.config.string()));
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
