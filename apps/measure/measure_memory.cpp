#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/measure/measure_memory.h>
#include <headrace/apps/run/own_child.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/random.h>

#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

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
                                  const SharedText& asked, const SharedText& answer) {
  std::vector<std::string> words{this_program_path(),
                                 "profile-memory",
                                 asked.path(),
                                 "--measure",
                                 answer.path(),
                                 "--limit",
                                 std::to_string(options.limit),
                                 "--steps",
                                 std::to_string(options.steps),
                                 "--parent",
                                 std::to_string(::getpid())};
  if (!options.stage.empty()) words.insert(words.end(), {"--stage", options.stage});
  if (!options.rows.empty())
    words.insert(words.end(), {"--rows", fmt::format("{}", fmt::join(options.rows, ","))});
  if (member) words.insert(words.end(), {"--member", std::to_string(*member)});
  return words;
}

}  // namespace

MeasuredMemory measure_apart(const TrainingJob& job, const MeasureOptions& options,
                             const std::optional<std::int64_t>& member) {
  const SharedText asked("headrace-job");
  const SharedText answer("headrace-measured");
  std::ofstream(asked.path()) << job.yaml;
  const ChildResult child = run_child(words_of(options, member, asked, answer));
  if (child.status == 0) return parse_measured_memory(read_whole_text(answer.path(), "memory"));
  return {.failed = "the process that was to measure it " + ending_of(child),
          .without_resources = child.status == static_cast<int>(ExitCode::resources) ||
                               child.status == killed_status};
}

std::optional<MeasuredMemory> read_measured_memory(const fs::path& file, const TrainingJob& job,
                                                   const std::string& key) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    MeasuredMemory measured = parse_measured_memory(read_whole_text(file, "memory"));
    if (measured.of == words_for(job, key)) return measured;
  } catch (const Error&) {
    // Of another release, or no such file at all: measured again.
  }
  return std::nullopt;
}

void write_measured_memory(const fs::path& file, MeasuredMemory measured, const TrainingJob& job,
                           const std::string& key) {
  measured.of = words_for(job, key);
  write_file_atomically(file, to_json(measured));
}

}  // namespace headrace::inline v1::app
