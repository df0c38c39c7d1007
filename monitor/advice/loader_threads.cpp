#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/advice/loader_threads.h>

#include <string_view>
#include <system_error>

namespace headrace::inline v1::monitor {
namespace {

namespace fs = std::filesystem;
namespace files = headrace::detail;

constexpr std::string_view io_name = "headrace-io-";
constexpr std::string_view worker_name = "headrace-";  // and a number

// Nothing for a thread that ended meanwhile.
std::optional<ThreadTime> time_of(const fs::path& thread) {
  const auto text = files::read_small_file(thread / "schedstat");
  if (!text) return std::nullopt;
  const auto words = files::split_words(*text);
  if (words.size() < 2) return std::nullopt;
  const auto cpu_ns = files::to_number(words[0]);
  const auto queued_ns = files::to_number(words[1]);
  if (!cpu_ns || !queued_ns) return std::nullopt;
  return ThreadTime{.cpu_s = static_cast<double>(*cpu_ns) * 1e-9,
                    .queued_s = static_cast<double>(*queued_ns) * 1e-9};
}

ThreadTime* times_of(std::string_view name, LoaderThreadTimes& times) {
  if (name.starts_with(io_name)) return &times.io;
  if (!name.starts_with(worker_name)) return nullptr;
  return files::to_number(name.substr(worker_name.size())) ? &times.workers : nullptr;
}

}  // namespace

std::optional<LoaderThreadTimes> read_loader_threads(const fs::path& root) {
  const fs::path tasks = root / "proc/self/task";
  std::error_code failed;
  LoaderThreadTimes times;
  bool told = false;
  for (fs::directory_iterator at(tasks, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    const auto name = files::read_small_file(at->path() / "comm");
    ThreadTime* const sum = name ? times_of(*name, times) : nullptr;
    const auto time = sum != nullptr ? time_of(at->path()) : std::nullopt;
    if (!time) continue;
    told = true;
    sum->cpu_s += time->cpu_s;
    sum->queued_s += time->queued_s;
  }
  if (!told) return std::nullopt;
  return times;
}

std::optional<LoaderThreadTimes> loader_threads_since(
    const std::optional<LoaderThreadTimes>& before, const fs::path& root) {
  if (!before) return std::nullopt;
  std::optional<LoaderThreadTimes> times = read_loader_threads(root);
  if (times) {
    times->workers = times->workers - before->workers;
    times->io = times->io - before->io;
  }
  return times;
}

}  // namespace headrace::inline v1::monitor
