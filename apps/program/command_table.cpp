#include <headrace/apps/program/command_table.h>

namespace headrace::inline v1::app {
namespace {

// Of those jobs that have one, under their names.
std::vector<Command> prepare_commands(const std::vector<Job>& jobs) {
  std::vector<Command> commands;
  commands.reserve(jobs.size());
  for (const Job& job : jobs)
    if (job.prepare) commands.push_back(job.prepare());
  return commands;
}

Command bench_command() {
  return {.name = "bench", .help = "Measure", .group = {bench_loader_command()}};
}

}  // namespace

std::vector<Command> command_table(const std::vector<Job>& jobs) {
  return {
      new_command(),
      train_command(),
      predict_command(),
      evaluate_command(),
      export_command(),
      doctor_command(),
      tune_command(),
      profile_memory_command(),
      bench_command(),
      top_command(),
      {.name = "prepare",
       .help = "Make a data file from packaged data",
       .group = prepare_commands(jobs)},
      {.name = "pack",
       .help = "Put a data set into one file, or volumes into files of chunks",
       .group = {pack_table_command(), pack_images_command(), pack_volumes_command(),
                 pack_verify_command()}},
      inspect_command(),
      report_command(),
      compare_command(),
      monitor_command(),
      config_command(),
  };
}

std::vector<Command> job_command_table(const Job& job) {
  std::vector<Command> commands{train_command(),          predict_command(), evaluate_command(),
                                export_command(),         doctor_command(),  tune_command(),
                                profile_memory_command(), bench_command(),   top_command(),
                                monitor_command(),        inspect_command(), report_command(),
                                compare_command(),        config_command()};
  if (job.prepare) {
    commands.push_back(job.prepare());
    commands.back().name = "prepare";
  }
  return commands;
}

}  // namespace headrace::inline v1::app
