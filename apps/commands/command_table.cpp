#include <headrace/apps/commands/command_table.h>
#include <headrace/apps/jobs/jobs.h>

namespace headrace::inline v1::app {
namespace {

// Of those jobs that have one, under their names.
std::vector<Command> prepare_commands() {
  std::vector<Command> commands;
  commands.reserve(jobs().size());
  for (const Job& job : jobs())
    if (job.prepare.bind) commands.push_back(job.prepare);
  return commands;
}

}  // namespace

std::vector<Command> command_table() {
  return {
      train_command(),
      predict_command(),
      {.name = "bench", .help = "Measure", .group = {bench_loader_command()}},
      {.name = "prepare",
       .help = "Make a data file from packaged data",
       .group = prepare_commands()},
      {.name = "pack",
       .help = "Put a data set into one file",
       .group = {pack_table_command(), pack_images_command(), pack_verify_command()}},
      inspect_command(),
  };
}

}  // namespace headrace::inline v1::app
