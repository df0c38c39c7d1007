#pragma once

#include <headrace/apps/train/train_options.h>

namespace CLI {
class App;
}

namespace headrace::inline v1::app {

/// `--checkpoint`, `--device` and `--batch`.
void add_ensemble(CLI::App& line, EnsembleOptions& options);

}  // namespace headrace::inline v1::app
