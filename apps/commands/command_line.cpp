#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/commands/command_table.h>
#include <headrace/apps/commands/run_command.h>
#include <headrace/apps/commands/start_train_program.h>
#include <headrace/apps/commands/unknown_command.h>
#include <headrace/apps/train/training_backend.h>

#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

/// A command of the line, behind its groups.
struct Bound {
  const CLI::App* line = nullptr;
  Command::Run run{};
  bool needs_torch = false;
};

void add_commands(CLI::App& parent, const std::vector<Command>& commands,
                  std::vector<Bound>& bound) {
  for (const Command& command : commands) {
    CLI::App* line = parent.add_subcommand(command.name, command.help);
    if (command.group.empty()) {
      bound.push_back(
          {.line = line, .run = command.bind(*line), .needs_torch = command.needs_torch});
    } else {
      line->require_subcommand(1);
      add_commands(*line, command.group, bound);
    }
  }
}

/// What is wrong with the line, or the help that it asks for: said here.
ExitCode answer(const CLI::App& program, const CLI::ParseError& error) {
  // It is looked for here because a request for help would be answered first.
  if (const auto mistake = unknown_command(program)) {
    std::cerr << "headrace: " << *mistake << '\n';
    return ExitCode::configuration;
  }
  return program.exit(error, std::cout, std::cerr) == 0 ? ExitCode::done : ExitCode::configuration;
}

ExitCode run(const Bound& command, int argc, char** argv, TrainingBackend* backend) {
  const CommandCall call{.arguments = {argv, argv + argc}, .backend = backend};
  if (command.needs_torch) {
    if (backend == nullptr) start_train_program(argv);
    return backend->run([&] { return command.run(call); });
  }
  if (backend != nullptr) {
    throw Failure(ExitCode::configuration,
                  "headrace-train trains and predicts; start headrace for this command");
  }
  return command.run(call);
}

}  // namespace

int run_program(int argc, char** argv, TrainingBackend* backend) noexcept {
  return run_command([&] {
    CLI::App program("Trains models whose GPU never waits for data.", "headrace");
    program.require_subcommand(1);
    program.set_version_flag("--version", "headrace " HEADRACE_VERSION);
    std::vector<Bound> bound;
    add_commands(program, command_table(), bound);
    try {
      program.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return answer(program, error);
    }
    for (const Bound& command : bound)
      if (command.line->parsed()) return run(command, argc, argv, backend);
    return ExitCode::configuration;
  });
}

}  // namespace headrace::inline v1::app
