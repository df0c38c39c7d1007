#include <headrace/apps/run/run_folder.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/folder_lock.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <sys/stat.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr int most_suffixes = 10'000;

void make_parents(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) {
    throw ResourceError(
        fmt::format("[run folder] {}: cannot be made: {}", parent.string(), error.message()));
  }
}

// mkdir either makes the folder or finds it there: two runs that start at once never share one.
bool make_new(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  throw ResourceError(
      fmt::format("[run folder] {}: cannot be made: {}", folder.string(), std::strerror(errno)));
}

std::shared_ptr<FolderLock> locked(const fs::path& folder) {
  auto lock = std::make_shared<FolderLock>(folder);
  if (!lock->refused()) return lock;
  throw ConfigError(
      fmt::format("[run folder] {}: another program is at work in it; stop that one first, and "
                  "wait until it has saved",
                  folder.string()));
}

}  // namespace

RunFolder::RunFolder(fs::path path)
    : path_(std::move(path)),
      lock_(locked(path_)),
      csv_(std::make_unique<CsvWriter>(path_ / "metrics.csv")),
      jsonl_(std::make_unique<JsonLinesWriter>(path_ / "metrics.jsonl")),
      advice_(std::make_unique<JsonLinesWriter>(path_ / "advice.jsonl")),
      bad_steps_(std::make_unique<JsonLinesWriter>(path_ / "bad_steps.jsonl")) {}

RunFolder RunFolder::create(const fs::path& parent, const std::string& name) {
  if (name.empty() || fs::path(name).has_parent_path() || name == "." || name == "..") {
    throw ConfigError(fmt::format("[run folder] the name must be one path part, got \"{}\"", name));
  }
  make_parents(parent);
  fs::path folder = parent / name;
  for (int suffix = 2; !make_new(folder); ++suffix) {
    if (suffix > most_suffixes) {
      throw ResourceError(fmt::format("[run folder] {}: {} runs of this name exist; name another",
                                      folder.string(), most_suffixes));
    }
    folder = parent / fmt::format("{}-{}", name, suffix);
  }
  RunFolder run(folder);
  if (!make_new(run.checkpoints())) throw ResourceError("[run folder] a new folder is not empty");
  return run;
}

RunFolder RunFolder::open(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / "config.yaml", error)) {
    throw ConfigError(
        fmt::format("[run folder] {}: must be the folder of a run, got one without config.yaml",
                    folder.string()));
  }
  RunFolder run(folder);
  make_new(run.checkpoints());
  return run;
}

std::string RunFolder::dated_name(std::string_view job) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{}-{:%Y%m%d-%H%M%S}", job, parts);
}

void RunFolder::write_config(std::string_view yaml) const {
  write_file_atomically(path_ / "config.yaml", yaml);
}

void RunFolder::write_command(const std::vector<std::string>& arguments) const {
  std::ofstream stream(path_ / "command.txt", std::ios::app);
  std::error_code ignored;
  stream << "cd " << shell_quoted({fs::current_path(ignored).string()}) << " && "
         << shell_quoted(arguments) << '\n'
         << std::flush;
  if (!stream)
    throw ResourceError(
        fmt::format("[run folder] {}: cannot be written", (path_ / "command.txt").string()));
}

std::string shell_quoted(const std::vector<std::string>& arguments) {
  constexpr std::string_view harmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-=:,+@%";
  std::string line;
  for (const std::string& argument : arguments) {
    if (&argument != &arguments.front()) line += ' ';
    if (!argument.empty() && argument.find_first_not_of(harmless) == std::string::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace headrace::inline v1::app
