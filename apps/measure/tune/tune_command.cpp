#include <headrace/apps/config/units.h>
#include <headrace/apps/measure/tune/tune.h>
#include <headrace/apps/run/command.h>

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, TuneOptions& options) {
  line.add_option("CONFIG", options.config, "Configuration (YAML)")->required();
  add_settings(line, options.settings);
  add_preset(line, options.preset);
  line.add_option("--cpu", options.cpu, "Cores that the run may use; else all")
      ->check(CLI::PositiveNumber);
  const auto read_memory = [&options](const std::string& text) {
    const std::optional<Bytes> memory = parse_bytes(text);
    if (!memory || memory->value == 0)
      throw CLI::ValidationError("--memory", "must be a size such as 8GiB, got " + text);
    options.memory = memory->value;
  };
  line.add_option_function<std::string>("--memory", read_memory,
                                        "Memory that the process may hold; else what is free");
  line.add_option("--minutes", options.minutes, "Time for all trials together")
      ->check(number_range(0.01, 1e5))
      ->capture_default_str();
  line.add_option("--seconds", options.seconds, "Time of each trial, behind its warm-up")
      ->check(number_range(0.1, 3600.0))
      ->capture_default_str();
  line.add_option("--allow", options.allow,
                  "Try what changes what is learnt, too: batch, or decode (on a GPU)")
      ->check(CLI::IsMember({"batch", "decode"}))
      ->allow_extra_args(false);
  line.add_option("--output", options.output,
                  "File of the tuned configuration; else beside CONFIG, NAME.tuned.yaml");
  line.add_option("--json", options.json, "Write every trial to this file");
}

}  // namespace

Command tune_command() {
  return make_torch_command<TuneOptions>(
      "tune", "Try what makes a training faster, and write the best configuration", add, tune);
}

}  // namespace headrace::inline v1::app
