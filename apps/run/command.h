#pragma once

#include <headrace/apps/config/exit_codes.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Validator;
}

namespace headrace::inline v1::app {

class TrainingBackend;
struct Job;

/// What a command is started with beside its own options.
struct CommandCall {
  std::vector<std::string> arguments{};  ///< the command line as it was typed
  const std::vector<Job>& jobs;          ///< whose configurations the program reads
  TrainingBackend* backend = nullptr;    ///< LibTorch; null but where Command::needs_torch
};

/// A command of the program, or a group of some.
struct Command {
  /// Runs the command with the values that its options have got. What it throws becomes a line and
  /// an exit code (`program/command_line.cpp`).
  using Run = std::function<ExitCode(const CommandCall&)>;

  std::string name{};
  std::string help{};  ///< one line
  /// Adds its options to a command line that is about to be read, and gives what runs afterwards.
  std::function<Run(CLI::App&)> bind{};
  bool needs_torch = false;      ///< only the program headrace-train can run it
  std::vector<Command> group{};  ///< the commands of a group, which itself runs nothing
};

/// A command with options of its own: `add` binds them, `run` gets them once they are read.
template <class Options>
Command make_command(std::string name, std::string help, void (*add)(CLI::App&, Options&),
                     ExitCode (*run)(const Options&, const CommandCall&)) {
  return {.name = std::move(name), .help = std::move(help), .bind = [add, run](CLI::App& line) {
            const auto options = std::make_shared<Options>();
            add(line, *options);
            return [options, run](const CommandCall& call) { return run(*options, call); };
          }};
}

/// The same of one that only headrace-train can run.
template <class Options>
Command make_torch_command(std::string name, std::string help, void (*add)(CLI::App&, Options&),
                           ExitCode (*run)(const Options&, const CommandCall&)) {
  Command command = make_command(std::move(name), std::move(help), add, run);
  command.needs_torch = true;
  return command;
}

/// `--set a.b=c`, as often as wanted.
void add_settings(CLI::App& line, std::vector<std::string>& settings);

/// `--preset NAME`, by which settings come before those of `--set`: see apply_preset().
void add_preset(CLI::App& line, std::string& preset);

/// `--threads N`, where 0 stands for all usable cores: see threads_of().
void add_threads(CLI::App& line, int& threads);

/// The number itself, or for 0 that of the usable cores.
int threads_of(int wanted);

/// For CLI::Option::check(): a number from `least` to `most`. "nan" is none, which CLI::Range lets
/// through.
CLI::Validator number_range(double least, double most);

}  // namespace headrace::inline v1::app
