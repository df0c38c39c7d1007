#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/run/run_process.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/monitor/memory/process_memory.h>

#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include <sys/utsname.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

std::string processor_model() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    return colon == std::string::npos ? std::string{} : line.substr(colon + 2);
  }
  return {};
}

nlohmann::ordered_json kernel() {
  utsname names{};
  if (uname(&names) != 0) return nullptr;
  return {{"system", names.sysname},
          {"release", names.release},
          {"machine", names.machine},
          {"host", names.nodename}};
}

}  // namespace

void RunFolder::write_environment(const std::map<std::string, std::string>& versions) const {
  const monitor::HostMemory memory = monitor::read_host_memory();
  const auto quota = monitor::cpu_quota();
  nlohmann::ordered_json object;
  object["written"] = utc_time();
  object["versions"] = versions;
  object["kernel"] = kernel();
  object["cpu"] = {
      {"model", processor_model()},
      {"cores", std::thread::hardware_concurrency()},
      {"usable_cores", monitor::usable_cores()},
      {"quota_cores", quota ? nlohmann::ordered_json(*quota) : nlohmann::ordered_json(nullptr)}};
  object["memory"] = {{"total_bytes", memory.total}, {"available_bytes", memory.available}};
  if (memory.cgroup_limit) {
    object["cgroup"] = {{"limit_bytes", *memory.cgroup_limit},
                        {"usage_bytes", memory.cgroup_usage},
                        {"file", memory.cgroup_file}};
  } else {
    object["cgroup"] = nullptr;
  }
  object["pid"] = getpid();
  object["pid_started"] = process_started(getpid());
  write_file_atomically(
      path_ / "env.json",
      object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace headrace::inline v1::app
