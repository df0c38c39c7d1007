#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/apps/run/command.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a program of the house is made of.
struct Program {
  std::string name = "headrace";  ///< of its messages and its help
  std::string help = "Trains models whose GPU never waits for data.";
  std::vector<Job> jobs{};
  std::vector<Command> commands{};
  TrainingBackend* backend = nullptr;  ///< null: what needs LibTorch is headrace-train's
  bool only_torch = false;             ///< it refuses what needs no LibTorch: headrace-train
};

/// Reads the command line, runs the command that it names and gives the exit code. Help goes to
/// standard output, a mistake to standard error, both without LibTorch. A program that has no
/// backend becomes headrace-train where a command needs one.
int run_program(int argc, char** argv, const Program& program) noexcept;

}  // namespace headrace::inline v1::app
