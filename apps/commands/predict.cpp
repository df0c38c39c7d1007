#include <headrace/apps/commands/command_table.h>
#include <headrace/apps/train/train_options.h>
#include <headrace/apps/train/training_backend.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, PredictOptions& options) {
  line.add_option("--checkpoint", options.checkpoints,
                  "Weights that a run has written, or its folder; several vote")
      ->required();
  line.add_option("--data", options.data, "File with the samples, as the job reads it")->required();
  line.add_option("--output", options.output, "CSV file to write")->required();
  line.add_option("--device", options.device, "auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  line.add_option("--batch", options.batch, "Samples at once")->check(CLI::NonNegativeNumber);
}

ExitCode run(const PredictOptions& options, const CommandCall& call) {
  return call.backend->predict(options);
}

}  // namespace

Command predict_command() {
  Command command =
      make_command("predict", "Write class probabilities for a file of samples as CSV", add, run);
  command.needs_torch = true;
  return command;
}

}  // namespace headrace::inline v1::app
