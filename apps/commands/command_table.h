#pragma once

#include <headrace/apps/run/command.h>

#include <vector>

namespace headrace::inline v1::app {

/// All commands of the program, in the order of its help. Both programs read the same command line;
/// those that need LibTorch are run by headrace-train alone.
std::vector<Command> command_table();

// Each is defined in the file of its name.
Command bench_loader_command();
Command inspect_command();
Command pack_images_command();
Command pack_table_command();
Command pack_verify_command();
Command predict_command();
Command train_command();

}  // namespace headrace::inline v1::app
