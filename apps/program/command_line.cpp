#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/program/command_line.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/loaders/hdf5/hdf5_helper.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& group) {
  return group.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const CLI::App& group) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(group))
    names.push_back(command->get_name());
  return names;
}

// "train", or "pack table" where only a group below has one that is near.
std::optional<std::string> nearest_command(const CLI::App& group, const std::string& word) {
  if (auto name = nearest_name(word, names_of(group))) return name;
  for (const CLI::App* command : commands_of(group)) {
    if (const auto name = nearest_command(*command, word)) return command->get_name() + " " + *name;
  }
  return std::nullopt;
}

std::string message(const CLI::App& group, const std::string& path, const std::string& word) {
  const auto meant = nearest_command(group, word);
  return fmt::format("[command line] {} must be followed by one of {}, got \"{}\"; {}", path,
                     fmt::join(names_of(group), ", "), word,
                     meant ? fmt::format("did you mean {} {}?", path, *meant)
                           : fmt::format("see {} --help", path));
}

// What is wrong with the first word of a parsed command line that stands in a command's place and
// is none, and what was meant; nothing if there is no such word.
std::optional<std::string> unknown_command(const CLI::App& program) {
  std::string path = program.get_name();
  for (const CLI::App* group = &program; !commands_of(*group).empty();) {
    const std::vector<std::string> left = group->remaining();
    // What follows an unknown option may be its value.
    if (!left.empty() && !left.front().starts_with('-')) return message(*group, path, left.front());
    const std::vector<CLI::App*> parsed = group->get_subcommands();
    if (parsed.empty()) break;
    group = parsed.front();
    path += " " + group->get_name();
  }
  return std::nullopt;
}

// Replaces this process by the program `headrace-train` with the same arguments: it lies beside
// this program, or in ../libexec/headrace. Returns only by throwing ConfigError (it was not built)
// or ResourceError (it cannot be started).
[[noreturn]] void start_train_program(char** argv) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& program :
       {folder / "headrace-train", folder.parent_path() / "libexec/headrace/headrace-train"}) {
    std::error_code ignored;
    if (!fs::is_regular_file(program, ignored)) continue;
    // LibTorch's threads would spin at the end of every parallel region, on cores that the loader
    // and other programs want: on a busy machine a step takes several times as long. It is read
    // when their library is loaded, so it is set here; a value that is there already stays.
    ::setenv("OMP_WAIT_POLICY", "passive", 0);
    ::execv(program.c_str(), argv);
    throw ResourceError(
        fmt::format("[headrace] {} must start, got: {}", program.string(), std::strerror(errno)));
  }
  throw ConfigError(fmt::format(
      "[headrace] this command needs the program headrace-train beside {}, got none; build with "
      "LibTorch (scripts/setup, then -DHEADRACE_TORCH=ON)",
      folder.string()));
}

// Runs a command of a program and gives the program's exit code. What it throws is reported on
// standard error, in one line that begins with the program's name, and becomes the code that
// belongs to it.
int run_command(const std::string& program, const std::function<ExitCode()>& command) noexcept {
  try {
    return static_cast<int>(command());
  } catch (const std::exception& error) {
    const ExitCode code = exit_code_of(error);
    std::string text = clean_message(error.what());
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
    std::fprintf(stderr, "%s: %s%s\n", program.c_str(),
                 code == ExitCode::bug ? "this is a bug, please report it: " : "", text.c_str());
    return static_cast<int>(code);
  } catch (...) {
    std::fprintf(stderr, "%s: this is a bug, please report it: an exception of no known type\n",
                 program.c_str());
    return static_cast<int>(ExitCode::bug);
  }
}

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
