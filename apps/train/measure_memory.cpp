#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/feed/child_process.h>
#include <headrace/apps/train/measure_memory.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/random.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdlib.h>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// For what the two processes say to each other.
class OwnFolder {
 public:
  OwnFolder() {
    std::error_code missing;
    const fs::path parent = fs::temp_directory_path(missing);
    std::string pattern = (parent / "headrace-memory-XXXXXX").string();
    if (missing || ::mkdtemp(pattern.data()) == nullptr)
      throw ResourceError(fmt::format(
          "[memory] {}: a folder must be had to measure, got: {}; set TMPDIR to a folder that can "
          "be written, or memory.measure to false",
          pattern, missing ? missing.message() : std::strerror(errno)));
    path_ = pattern;
  }
  ~OwnFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr int killed = 128 + SIGKILL;  // as the kernel does where there is no memory

std::string first_words(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// A program that was built anew may take other memory.
std::string this_program() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return fmt::format("{} {} {}", program.string(), fs::file_size(program, ignored),
                     fs::last_write_time(program, ignored).time_since_epoch().count());
}

std::string words_for(const TrainingJob& job, const std::string& key) {
  return fmt::format("{:016x}",
                     hash_name(fmt::format("{}\n{}\n{}", job.yaml, key, this_program())));
}

std::vector<std::string> words_of(const MeasureOptions& options,
                                  const std::optional<std::int64_t>& member,
                                  const fs::path& folder) {
  std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string(),
                                 "profile-memory",
                                 (folder / "job.yaml").string(),
                                 "--measure",
                                 (folder / "measured.json").string(),
                                 "--limit",
                                 std::to_string(options.limit),
                                 "--steps",
                                 std::to_string(options.steps)};
  if (!options.stage.empty()) words.insert(words.end(), {"--stage", options.stage});
  if (!options.rows.empty())
    words.insert(words.end(), {"--rows", fmt::format("{}", fmt::join(options.rows, ","))});
  if (member) words.insert(words.end(), {"--member", std::to_string(*member)});
  return words;
}

}  // namespace

MeasuredMemory measure_apart(const TrainingJob& job, const MeasureOptions& options,
                             const std::optional<std::int64_t>& member) {
  const OwnFolder folder;
  write_file_atomically(folder.path() / "job.yaml", job.yaml);
  const ChildResult child = run_child(words_of(options, member, folder.path()));
  const fs::path measured = folder.path() / "measured.json";
  if (child.status == 0 && fs::exists(measured)) return parse_measured_memory(content_of(measured));
  return {.failed = fmt::format("the process that was to measure it ended with {}: {}",
                                child.status, first_words(child.output)),
          .without_resources =
              child.status == static_cast<int>(ExitCode::resources) || child.status == killed};
}

std::optional<MeasuredMemory> read_measured_memory(const fs::path& file, const TrainingJob& job,
                                                   const std::string& key) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    MeasuredMemory measured = parse_measured_memory(content_of(file));
    if (measured.of == words_for(job, key)) return measured;
  } catch (const ConfigError&) {
    // Of another release: measured again.
  }
  return std::nullopt;
}

void write_measured_memory(const fs::path& file, MeasuredMemory measured, const TrainingJob& job,
                           const std::string& key) {
  measured.of = words_for(job, key);
  write_file_atomically(file, to_json(measured));
}

}  // namespace headrace::inline v1::app
