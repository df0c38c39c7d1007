#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/apps/run/command.h>

#include <vector>

namespace headrace::inline v1::app {

/// All commands of the house's program, in the order of its help. Both programs read the same
/// command line; those that need LibTorch are run by headrace-train alone.
std::vector<Command> command_table(const std::vector<Job>& jobs);

/// Those of a program for one job: its `prepare`, where it has one, stands under no name.
std::vector<Command> job_command_table(const Job& job);

// Each is defined in its room (docs/architecture.md).
Command bench_loader_command();
Command compare_command();
Command config_command();
Command doctor_command();
Command evaluate_command();
Command export_command();
Command inspect_command();
Command monitor_command();
Command new_command();
Command pack_images_command();
Command pack_table_command();
Command pack_verify_command();
Command pack_volumes_command();
Command predict_command();
Command profile_memory_command();
Command report_command();
Command top_command();
Command train_command();
Command tune_command();

}  // namespace headrace::inline v1::app
