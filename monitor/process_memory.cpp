#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/process_memory.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <sys/resource.h>

namespace headrace::inline v1::monitor {
namespace {

namespace fs = std::filesystem;
using headrace::detail::cgroup_paths;
using headrace::detail::keyed_number;
using headrace::detail::read_small_file;
using headrace::detail::to_number;

// v1 says "no limit" with the largest multiple of the page size.
constexpr std::int64_t v1_unlimited = std::int64_t{1} << 62;

struct CgroupFiles {
  std::vector<std::string_view> limits;
  std::string_view usage;
  std::string_view droppable;  // key in memory.stat
};

CgroupFiles files_of(int version) {
  if (version == 2) return {{"memory.max", "memory.high"}, "memory.current", "inactive_file"};
  return {{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"};
}

std::optional<std::uint64_t> limit_in(const fs::path& file) {
  const auto text = read_small_file(file);
  if (!text) return std::nullopt;
  const auto value = to_number(*text);
  if (!value || *value < 0 || *value >= v1_unlimited) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::uint64_t usage_in(const fs::path& directory, const CgroupFiles& files) {
  const std::uint64_t used = limit_in(directory / files.usage).value_or(0);
  const std::string stat = read_small_file(directory / "memory.stat").value_or("");
  const std::uint64_t droppable = keyed_number(stat, files.droppable).value_or(0);
  return used - std::min(used, droppable);
}

void add_cgroup(HostMemory& host, const fs::path& root) {
  for (const auto& [version, directories] : cgroup_paths(root, "memory")) {
    const CgroupFiles files = files_of(version);
    for (const fs::path& directory : directories) {
      for (const std::string_view name : files.limits) {
        const auto limit = limit_in(directory / name);
        if (!limit || (host.cgroup_limit && *host.cgroup_limit <= *limit)) continue;
        host.cgroup_limit = limit;
        host.cgroup_usage = usage_in(directory, files);
        host.cgroup_file = (directory / name).string();
      }
    }
  }
}

}  // namespace

ProcessMemory read_process_memory(const fs::path& root) {
  const std::string status = read_small_file(root / "proc/self/status").value_or("");
  const auto field = [&](std::string_view key) { return keyed_number(status, key).value_or(0); };
  return {.anonymous = field("RssAnon"),
          .shared = field("RssShmem"),
          .page_locked = std::max(field("VmLck"), field("VmPin")),
          .file_backed = field("RssFile"),
          .data_segment = field("VmData"),
          .peak_resident = field("VmHWM")};
}

std::uint64_t HostMemory::room() const {
  if (!cgroup_limit) return available;
  return std::min(available, *cgroup_limit - std::min(*cgroup_limit, cgroup_usage));
}

HostMemory read_host_memory(const fs::path& root) {
  const std::string text = read_small_file(root / "proc/meminfo").value_or("");
  HostMemory host{.total = keyed_number(text, "MemTotal").value_or(0),
                  .available = keyed_number(text, "MemAvailable").value_or(0)};
  add_cgroup(host, root);
  return host;
}

MemoryLimit tightest_memory_limit(std::optional<std::uint64_t> configured, const fs::path& root) {
  const HostMemory host = read_host_memory(root);
  MemoryLimit limit{host.total > 0 ? host.total : UINT64_MAX, "machine"};
  const auto consider = [&](std::uint64_t bytes, const std::string& source) {
    if (bytes < limit.bytes) limit = {bytes, source};
  };
  if (host.cgroup_limit) consider(*host.cgroup_limit, "cgroup " + host.cgroup_file);
  rlimit data{};
  if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY) {
    consider(data.rlim_cur, "RLIMIT_DATA");
  }
  if (configured && *configured <= limit.bytes) limit = {*configured, "configuration"};
  return limit;
}

std::optional<double> cpu_quota(const fs::path& root) {
  return headrace::detail::cpu_quota(root);
}

unsigned usable_cores(const fs::path& root) {
  return static_cast<unsigned>(headrace::detail::usable_cores(root));
}

unsigned usable_cores(unsigned affinity, std::optional<double> quota) {
  return static_cast<unsigned>(headrace::detail::usable_cores(static_cast<int>(affinity), quota));
}

}  // namespace headrace::inline v1::monitor
