#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/program/command_line.h>
#include <headrace/apps/program/command_table.h>

// The program for everything that needs no LibTorch. Training and prediction live in a program of
// their own, which it becomes.
int main(int argc, char** argv) {
  using namespace headrace::app;
  return run_program(argc, argv, {.jobs = jobs(), .commands = command_table(jobs())});
}
