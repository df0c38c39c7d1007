#include <headrace/apps/commands/command_table.h>
#include <headrace/apps/commands/ensemble_options.h>
#include <headrace/apps/train/training_backend.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, PredictOptions& options) {
  add_ensemble(line, options.ensemble);
  line.add_option("--data", options.data, "File or folder with the samples, as the job reads it")
      ->required();
  line.add_option("--output", options.output,
                  "File to write: JSON lines for .jsonl, else CSV; for masks a folder")
      ->required();
  line.add_flag("--overwrite", options.overwrite, "Replace masks that are in the folder");
}

ExitCode run(const PredictOptions& options, const CommandCall& call) {
  return call.backend->predict(options);
}

}  // namespace

Command predict_command() {
  Command command = make_command(
      "predict", "Write class probabilities of samples as CSV or JSON lines, or masks as PNG", add,
      run);
  command.needs_torch = true;
  return command;
}

}  // namespace headrace::inline v1::app
