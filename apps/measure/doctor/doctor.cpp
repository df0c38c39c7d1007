#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/measure/ceilings.h>
#include <headrace/apps/measure/data_pages.h>
#include <headrace/apps/measure/doctor/doctor.h>
#include <headrace/apps/measure/doctor/environment.h>
#include <headrace/apps/measure/tune/tune_candidates.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/apps/memory/memory_room.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/apps/view/files_needed.h>
#include <headrace/apps/view/setting_facts.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/monitor/system/file_limits.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

// From above; nothing where the data say that they cannot be opened, which a trial has said then.
std::optional<std::uint64_t> open_files_of(const WholeConfiguration& configuration, bool on_gpu) {
  try {
    return configuration.loader ? files_needed(make_loader_job(*configuration.loader))
                                : files_needed(*configuration.job, on_gpu);
  } catch (const Error&) {
    return std::nullopt;
  }
}

CeilingFacts facts_of(const WholeConfiguration& configuration,
                      const EnvironmentOptions& environment, const DataFiles& data) {
  CeilingFacts facts{
      .settings = setting_facts(configuration.full),
      .memory_room = std::min(monitor::read_host_memory().room(),
                              environment.needs.memory_limit.value_or(UINT64_MAX)),
      .shared_room = shared_memory_room(),
      .files = monitor::read_file_limits({.open = environment.needs.open_files.value_or(0)})};
  facts.settings.data_bytes = data.bytes;
  facts.settings.decoded_bytes = record_bytes(configuration).decoded;
  return facts;
}

PaceResult measure(const WholeConfiguration& configuration, PaceInput input, double seconds) {
  fmt::print(stderr, "input from {}\n", to_string(input));
  return pace_apart(configuration.yaml(), {.input = input, .seconds = seconds});
}

// What a configuration wants of the machine, and where its files lie.
EnvironmentOptions environment_of(const WholeConfiguration& configuration, const DataFiles& data,
                                  const Ceilings& ceilings) {
  EnvironmentOptions options{.runs = configuration.value("runs").value_or(""),
                             .needs = configured_needs(configuration)};
  options.needs.read_per_s = storage_demand(ceilings);
  options.needs.open_files = open_files_of(configuration, ceilings.memory.budget.on_gpu);
  options.needs.process_share = ceilings.memory.process_share;
  if (!data.files.empty())
    options.data = data.files.size() == 1 ? data.files.front() : data.folder();
  return options;
}

Findings check(EnvironmentOptions options, const TrainingBackend& backend) {
  options.torch_version = backend.version();
  options.torch_cuda = backend.cuda_version();
  return check_environment(options);
}

bool is_wrong(const Finding& finding) {
  return finding.severity == monitor::Severity::error;
}

ExitCode look_at_environment(const ResultFile& json, const TrainingBackend& backend) {
  const Findings found = check({}, backend);
  fmt::print("{}", environment_text(found, text_columns(STDOUT_FILENO)));
  json.write(environment_json(found));
  return std::ranges::any_of(found, is_wrong) ? ExitCode::resources : ExitCode::done;
}

// What is as it should be needs no line above the ceilings.
Findings worth_a_line(Findings findings) {
  std::erase_if(findings, [](const Finding& finding) {
    return finding.severity < monitor::Severity::warning;
  });
  return findings;
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
  const ResultFile json(options.json, "[doctor] --json", {options.config});
  if (options.config.empty()) return look_at_environment(json, *call.backend);
  const WholeConfiguration configuration =
      read_whole_configuration(call.jobs, options.config, options.settings);
  Ceilings ceilings;
  if (configuration.trains)
    ceilings.device = require_pace(measure(configuration, PaceInput::device_only, options.seconds));
  // Storage first: what it reads is in memory then.
  ceilings.storage = measure(configuration, PaceInput::storage, options.seconds);
  ceilings.memory = require_pace(measure(configuration, PaceInput::memory, options.seconds));
  // Last: it drops the data's pages to see how fast they are read.
  const DataFiles data = find_data_files(configuration.asked);
  const EnvironmentOptions asked = environment_of(configuration, data, ceilings);
  const Findings environment = check(asked, *call.backend);
  const Diagnosis diagnosis = diagnose(ceilings, facts_of(configuration, asked, data), environment);
  if (const Findings lines = worth_a_line(environment); !lines.empty())
    fmt::print("{}\n", environment_text(lines, text_columns(STDOUT_FILENO)));
  fmt::print("{}", ceilings_text(ceilings, diagnosis, text_columns(STDOUT_FILENO)));
  json.write(ceilings_json(ceilings, diagnosis, options.config.string(), environment));
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
