#include <headrace/apps/run/command.h>
#include <headrace/apps/train/training_backend.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, ExportOptions& options) {
  line.add_option("RUN", options.run, "A run's folder, or a file of its weights")->required();
  line.add_option(
      "--output", options.output,
      "File to write, of several members one each; else model.safetensors in RUN; a network "
      "from TorchScript is written beside it, .torchscript");
  line.add_option("--member,--fold", options.member, "The weights of this one only")
      ->check(CLI::NonNegativeNumber);
}

ExitCode run(const ExportOptions& options, const CommandCall& call) {
  return call.backend->export_weights(options);
}

}  // namespace

Command export_command() {
  Command command = make_command<ExportOptions>(
      "export", "Write a run's best weights for other programs, as safetensors", add, run);
  command.needs_torch = true;
  return command;
}

}  // namespace headrace::inline v1::app
