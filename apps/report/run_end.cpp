#include <headrace/apps/report/run_end.h>
#include <headrace/apps/report/text_lines.h>
#include <headrace/apps/run/run_process.h>

#include <nlohmann/json.hpp>

#include <unistd.h>

namespace headrace::inline v1::app {

void SaidEnd::take(const nlohmann::json& event) {
  const std::string name = text_in(event, "event");
  if (name == "start" || name == "resume") *this = {};
  if (name != "end") return;
  const std::string how = text_in(event, "how");
  end = how == "done" ? RunEnd::finished : how == "stopped" ? RunEnd::stopped : RunEnd::failed;
  words = text_in(event, "said");
}

RunEnd run_end(const std::filesystem::path& run, std::optional<RunEnd> said) {
  const std::optional<std::int64_t> at_work = process_of_run(run);
  // A process that looks at its own run, for its report, goes by what it has said.
  if (at_work && (!said || *at_work != ::getpid())) return RunEnd::running;
  if (said) return *said;
  const std::optional<RunProcess> process = read_run_process(run);
  if (!process) return RunEnd::unknown;
  return is_running(*process) ? RunEnd::killed : RunEnd::elsewhere;
}

std::string to_string(RunEnd end) {
  switch (end) {
    case RunEnd::finished:
      return "finished";
    case RunEnd::stopped:
      return "stopped by a signal, and saved";
    case RunEnd::failed:
      return "failed";
    case RunEnd::running:
      return "is still at work";
    case RunEnd::elsewhere:
      return "has not said how it ended: it may be at work on another machine";
    case RunEnd::killed:
    case RunEnd::unknown:
      return "ended without a word: killed, or its machine went down";
  }
  return "";
}

}  // namespace headrace::inline v1::app
