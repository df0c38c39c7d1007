#include <headrace/apps/job/recipe_torch.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/program/backend_torch.h>
#include <headrace/apps/program/command_line.h>
#include <headrace/apps/program/command_table.h>
#include <headrace/apps/run/count_heap.h>

// Everything that needs LibTorch; the program headrace becomes this one.
int main(int argc, char** argv) {
  using namespace headrace::app;
  TorchBackend backend(jobs(), make_recipe);
  return run_program(
      argc, argv,
      {.jobs = jobs(), .commands = command_table(jobs()), .backend = &backend, .only_torch = true});
}
