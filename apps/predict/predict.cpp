#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/run/command.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

// `--checkpoint`, `--device` and `--batch`.
void add_ensemble(CLI::App& line, EnsembleOptions& options) {
  line.add_option("run,--checkpoint", options.checkpoints,
                  "Folder of a run, or weights that it has written; several vote")
      ->required();
  line.add_option("--device", options.device, "auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  line.add_option("--batch", options.batch, "Samples at once; 0: as in training")
      ->check(CLI::NonNegativeNumber);
}

void add_root(CLI::App& line, std::filesystem::path& root) {
  line.add_option("--root", root,
                  "Folder of a list's paths; default: that of the training, else the list's own");
}

void add(CLI::App& line, PredictOptions& options) {
  add_ensemble(line, options.ensemble);
  line.add_option("--data", options.data, "File or folder with the samples, as the job reads it")
      ->required();
  add_root(line, options.root);
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
  return make_torch_command<PredictOptions>(
      "predict",
      "Write class probabilities of samples as CSV or JSON lines, masks as PNG, or volumes", add,
      run);
}

namespace {

void add(CLI::App& line, EvaluateOptions& options) {
  add_ensemble(line, options.ensemble);
  line.add_option("--data", options.data,
                  "File or folder with labelled samples, as the job reads it; without it the test "
                  "that the run has set apart");
  add_root(line, options.root);
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
  return make_torch_command<EvaluateOptions>(
      "evaluate", "Say the figures of a run's weights on labelled data", add, run);
}

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
  return make_torch_command<ExportOptions>(
      "export", "Write a run's best weights for other programs, as safetensors", add, run);
}

}  // namespace headrace::inline v1::app
