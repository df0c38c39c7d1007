#include <headrace/apps/commands/ensemble_options.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/train/training_backend.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, PredictOptions& options) {
  add_ensemble(line, options.ensemble);
  line.add_option("--data", options.data, "File or folder with the samples, as the job reads it")
      ->required();
  line.add_option("--output", options.output,
                  "File to write: JSON lines for .jsonl, else CSV; for masks and volumes a folder")
      ->required();
  line.add_flag("--overwrite", options.overwrite,
                "Replace masks or volumes that are in the folder");
  line.add_option("--labels", options.labels,
                  "Folder of the volumes' labels, to compare with; those beside the images "
                  "(labelsTs beside imagesTs) are found");
}

ExitCode run(const PredictOptions& options, const CommandCall& call) {
  return call.backend->predict(options);
}

}  // namespace

Command predict_command() {
  Command command = make_command<PredictOptions>(
      "predict",
      "Write class probabilities of samples as CSV or JSON lines, masks as PNG, or volumes", add,
      run);
  command.needs_torch = true;
  return command;
}

}  // namespace headrace::inline v1::app
