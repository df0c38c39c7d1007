#include <headrace/apps/run/run_process.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include <sys/utsname.h>

namespace headrace::inline v1::app {
namespace {

using nlohmann::json;

constexpr std::uint64_t most_bytes = 1 << 20;

template <class T>
T value_of(const json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if constexpr (std::is_integral_v<T>)
    return found->is_number_integer() ? found->template get<T>() : otherwise;
  else
    return found->is_string() ? found->template get<T>() : otherwise;
}

// Of a process of another user, which does not show its files, it is taken for granted.
bool keeps_open(std::int64_t pid, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path wanted = fs::canonical(folder, error);
  if (error) return false;
  const fs::path open_files = fs::path("/proc") / std::to_string(pid) / "fd";
  for (fs::directory_iterator it(open_files, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code closed;
    if (fs::read_symlink(it->path(), closed) == wanted) return true;
  }
  return error == std::errc::permission_denied;
}

}  // namespace

std::string host_name() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : std::string();
}

std::optional<RunProcess> read_run_process(const std::filesystem::path& run) {
  std::string text;
  try {
    text = read_whole_text(run / "env.json", "run folder", most_bytes);
  } catch (const ResourceError&) {
    return std::nullopt;
  }
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  RunProcess process{.pid = value_of<std::int64_t>(object, "pid", 0),
                     .started = value_of<std::int64_t>(object, "pid_started", 0)};
  if (process.pid <= 0) return std::nullopt;
  if (const auto kernel = object.find("kernel"); kernel != object.end() && kernel->is_object())
    process.host = value_of<std::string>(*kernel, "host", "");
  return process;
}

// The name, in parentheses, may hold anything; the state is the first field behind it and the start
// the twentieth.
std::int64_t process_started(std::int64_t pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 1; i <= 20 && fields >> field; ++i) {
    if (i == 1 && (field == "Z" || field == "X")) return 0;
    if (i == 20) return std::atoll(field.c_str());
  }
  return 0;
}

std::optional<bool> is_running(const RunProcess& process) {
  if (!process.host.empty() && process.host != host_name()) return std::nullopt;
  const std::int64_t started = process_started(process.pid);
  return started != 0 && (process.started == 0 || process.started == started);
}

std::optional<std::int64_t> process_of_run(const std::filesystem::path& run) {
  const std::optional<RunProcess> process = read_run_process(run);
  if (!process || is_running(*process) != true || !keeps_open(process->pid, run))
    return std::nullopt;
  return process->pid;
}

}  // namespace headrace::inline v1::app
