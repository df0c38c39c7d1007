#include <headrace/apps/config/units.h>
#include <headrace/apps/measure/doctor/doctor.h>
#include <headrace/apps/run/command.h>

#include <string>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add_trial(CLI::App& line, PaceQuestion& trial) {
  line.add_option("--trial", trial.answer)->group("");
  const auto read_input = [&trial](const std::string& text) {
    const auto input = parse_pace_input(text);
    if (!input) throw CLI::ValidationError("--input", "must be device, memory or storage");
    trial.input = *input;
  };
  line.add_option_function<std::string>("--input", read_input)->group("");
  line.add_option("--trial-seconds", trial.seconds)->check(number_range(0.0, 3600.0))->group("");
  line.add_option("--trial-steps", trial.steps)->check(CLI::PositiveNumber)->group("");
  line.add_option("--trial-memory", trial.memory)->group("");
  line.add_option("--trial-parent", trial.parent)->group("");
}

void add(CLI::App& line, DoctorOptions& options) {
  line.add_option("CONFIG", options.config,
                  "Configuration (YAML); without one the environment alone is looked at");
  add_settings(line, options.settings);
  line.add_option("--seconds", options.seconds, "Time of each measurement, behind its warm-up")
      ->check(number_range(0.1, 3600.0))
      ->capture_default_str();
  line.add_option("--json", options.json, "Write everything measured to this file");
  add_trial(line, options.trial);
}

}  // namespace

Command doctor_command() {
  return make_torch_command<DoctorOptions>(
      "doctor", "Measure what holds a training back, and say the one thing to do", add, doctor);
}

}  // namespace headrace::inline v1::app
