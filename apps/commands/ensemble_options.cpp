#include <headrace/apps/commands/ensemble_options.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {

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

}  // namespace headrace::inline v1::app
