#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/train/live_dump.h>
#include <headrace/apps/train/live_run.h>
#include <headrace/apps/train/write_run_trace.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/runtime/threads_at_work.h>
#include <headrace/engine/runtime/tracing.h>
#include <headrace/monitor/format.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr int most_files = 100'000;

// The first of these names that is not taken; `name` gets a number.
template <class Name>
fs::path free_name(const fs::path& folder, const Name& name) {
  for (int number = 1; number < most_files; ++number)
    if (fs::path file = folder / name(number); !fs::exists(file)) return file;
  throw ResourceError(
      fmt::format("[live] {}: holds {} such files; remove some", folder.string(), most_files));
}

fs::path text_file(const fs::path& folder) {
  std::string time;  // "20261127T235959Z"
  for (const char c : utc_time())
    if (c != '-' && c != ':') time += c;
  return free_name(folder, [&time](int number) {
    return "live-" + time + (number > 1 ? fmt::format("-{}", number) : "") + ".txt";
  });
}

std::string threads_text(const Runtime& runtime) {
  Table table({{"thread", Align::left},
               {"loader", Align::left},
               {"stage", Align::left},
               {"on", Align::left}});
  for (const HangReport::InStage& at : threads_at_work(runtime))
    table.row(
        {at.thread, at.loader, at.stage,
         at.sample.index >= 0 ? to_string(at.sample) : fmt::format("batch {}", at.sample.batch)});
  return table.empty() ? "no thread of a loader is in a stage\n" : table.text();
}

std::string text_of(const LiveDumpParts& parts) {
  std::string text = fmt::format("{} process {}\n{}\n{}", utc_time(), ::getpid(), parts.live.text(),
                                 threads_text(parts.runtime));
  if (parts.account) text += '\n' + parts.account() + '\n';
  return text + "\nthreads of the process\n" + describe_threads();
}

void wait(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

void trace_window(const LiveDumpParts& parts, const std::stop_token& stop) {
  Tracing tracing(parts.runtime);
  parts.live.begin_track();
  wait(stop, parts.window);
  monitor::TraceTrack track = parts.live.end_track();
  const fs::path file =
      free_name(parts.folder, [](int number) { return fmt::format("trace-{}.json", number); });
  parts.say(write_run_trace(
      file, monitor::format_seconds(std::chrono::duration<double>(parts.window).count()),
      tracing.stop(), {std::move(track)}));
}

}  // namespace

void dump_live(const LiveDumpParts& parts, const std::stop_token& stop) {
  try {
    if (!parts.live.has_begun())
      return parts.say("SIGUSR2: nothing to show before there is a stage");
    const fs::path file = text_file(parts.folder);
    write_file_atomically(file, text_of(parts), {.who = "live"});
    parts.say(fmt::format(
        "SIGUSR2: what it is doing is in {}; a trace of the next {} follows", file.string(),
        monitor::format_seconds(std::chrono::duration<double>(parts.window).count())));
    trace_window(parts, stop);
  } catch (const std::exception& error) {
    parts.say(fmt::format("SIGUSR2: {}", error.what()));
  }
}

}  // namespace headrace::inline v1::app
