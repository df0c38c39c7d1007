#include <headrace/apps/run/run_process.h>
#include <headrace/apps/watch/watch_target.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/system/system_sampler.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// "python 4711"; the number alone where the process has no name.
std::string named(int pid) {
  std::string name =
      detail::read_small_file(fs::path("/proc") / std::to_string(pid) / "comm").value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return name.empty() ? fmt::format("process {}", pid) : fmt::format("{} {}", name, pid);
}

WatchTarget target_of_run(const fs::path& run) {
  std::error_code error;
  if (!fs::is_regular_file(run / "config.yaml", error)) {
    throw ConfigError(
        fmt::format("[monitor] {}: must be the folder of a run, got one without a config.yaml that "
                    "can be read; of "
                    "any other program name the process: --pid P",
                    run.string()));
  }
  const std::optional<std::int64_t> process = process_of_run(run);
  if (!process) {
    throw ConfigError(
        fmt::format("[monitor] {}: a run is watched while it trains, got one in which no process "
                    "of this machine is at work",
                    run.string()));
  }
  const auto pid = static_cast<int>(*process);
  return {.pid = pid, .words = fmt::format("{} ({})", run.string(), named(pid))};
}

}  // namespace

WatchTarget watch_target(const fs::path& run, int pid) {
  if (!run.empty() && pid > 0)
    throw ConfigError("[monitor] a run and --pid were named; name one of them");
  if (!run.empty()) return target_of_run(run);
  if (pid > 0) return {.pid = pid, .words = named(pid)};
  return {.pid = monitor::SystemSamplerOptions::nobody, .words = "the machine"};
}

}  // namespace headrace::inline v1::app
