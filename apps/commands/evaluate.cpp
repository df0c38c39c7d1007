#include <headrace/apps/commands/ensemble_options.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/train/training_backend.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, EvaluateOptions& options) {
  add_ensemble(line, options.ensemble);
  line.add_option("--data", options.data,
                  "File or folder with labelled samples, as the job reads it")
      ->required();
  line.add_option(
      "--split", options.split,
      "Part of the data: test, train, all, ...; else their test, or all if there is none");
  line.add_option("--output", options.output, "JSON file to write the figures to");
  line.add_option("--worst", options.worst, "PNG file to draw the worst mistakes into");
}

ExitCode run(const EvaluateOptions& options, const CommandCall& call) {
  return call.backend->evaluate(options);
}

}  // namespace

Command evaluate_command() {
  Command command = make_command<EvaluateOptions>(
      "evaluate", "Say the figures of a run's weights on labelled data", add, run);
  command.needs_torch = true;
  return command;
}

}  // namespace headrace::inline v1::app
