#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/commands/run_command.h>
#include <headrace/apps/commands/start_train_program.h>
#include <headrace/apps/commands/unknown_command.h>
#include <headrace/apps/train/training_backend.h>
#include <headrace/loaders/hdf5/hdf5_helper.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

/// A command of the line, behind its groups.
struct Bound {
  const CLI::App* line = nullptr;
  Command::Run run{};
  bool needs_torch = false;
};

// Where one of the three is closed, a file would get its number, and be written to or handed to
// another program in its place.
void open_standard_streams() {
  int opened = 0;
  do {
    opened = ::open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) ::close(opened);
}

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
ExitCode answer(const CLI::App& line, const CLI::ParseError& error) {
  // It is looked for here because a request for help would be answered first.
  if (const auto mistake = unknown_command(line)) {
    std::cerr << line.get_name() << ": " << *mistake << '\n';
    return ExitCode::configuration;
  }
  return line.exit(error, std::cout, std::cerr) == 0 ? ExitCode::done : ExitCode::configuration;
}

ExitCode run(const Bound& command, int argc, char** argv, const Program& program) {
  TrainingBackend* const backend = program.backend;
  const CommandCall call{
      .arguments = {argv, argv + argc}, .jobs = program.jobs, .backend = backend};
  if (command.needs_torch) {
    if (backend == nullptr) start_train_program(argv);
    return backend->run([&] { return command.run(call); });
  }
  if (program.only_torch) {
    throw Failure(ExitCode::configuration,
                  "headrace-train trains and predicts; start headrace for this command");
  }
  return command.run(call);
}

// Files of a data set stay open, more than the usual 1024 of them.
void allow_many_files() {
  constexpr rlim_t most = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, most));
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) noexcept {
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over `ulimit -f` is an error as that of a full disk
  allow_many_files();
  use_hdf5_helper();
  return run_command(program.name, [&] {
    CLI::App line(program.help, program.name);
    line.require_subcommand(1);
    line.set_version_flag("--version", "headrace " HEADRACE_VERSION);
    std::vector<Bound> bound;
    add_commands(line, program.commands, bound);
    try {
      line.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return answer(line, error);
    }
    for (const Bound& command : bound)
      if (command.line->parsed()) return run(command, argc, argv, program);
    return ExitCode::configuration;
  });
}

}  // namespace headrace::inline v1::app
