#include <headrace/apps/program/backend_torch.h>
#include <headrace/apps/program/command_line.h>
#include <headrace/apps/program/command_table.h>
#include <headrace/apps/program/job_program_torch.h>

#include <filesystem>
#include <string_view>

namespace headrace::inline v1::app {

int run_job_program(int argc, char** argv, const Job& job, const RecipeOf& recipe) noexcept {
  TorchBackend backend({job}, [&recipe](std::string_view, const JobConfig& config, Device device) {
    return recipe(config, device);
  });
  return run_program(
      argc, argv,
      {.name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : job.name,
       .help = job.help,
       .jobs = {job},
       .commands = job_command_table(job),
       .backend = &backend});
}

}  // namespace headrace::inline v1::app
