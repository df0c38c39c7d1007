#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/memory/detail/memory_of.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <fstream>
#include <iterator>
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

// Begins the source of such a limit.
constexpr std::string_view of_cgroup = "cgroup ";
constexpr std::string_view of_rlimit = "RLIMIT_DATA";

struct CgroupFiles {
  std::vector<std::string_view> limits;
  std::string_view usage;
  std::string_view droppable;  // keys in memory.stat
  std::vector<std::string_view> freeable;
};

CgroupFiles files_of(int version) {
  if (version == 2)
    return {{"memory.max", "memory.high"},
            "memory.current",
            "inactive_file",
            {"active_file", "slab_reclaimable"}};
  return {{"memory.limit_in_bytes"},
          "memory.usage_in_bytes",
          "total_inactive_file",
          {"total_active_file"}};
}

std::optional<std::uint64_t> limit_in(const fs::path& file) {
  const auto text = read_small_file(file);
  if (!text) return std::nullopt;
  const auto value = to_number(*text);
  if (!value || *value < 0 || *value >= v1_unlimited) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

void add_usage(HostMemory& host, const fs::path& directory, const CgroupFiles& files) {
  const std::string stat = read_small_file(directory / "memory.stat").value_or("");
  const auto less = [&](std::uint64_t bytes, std::string_view key) {
    return bytes - std::min<std::uint64_t>(bytes, keyed_number(stat, key).value_or(0));
  };
  host.cgroup_usage = less(limit_in(directory / files.usage).value_or(0), files.droppable);
  host.cgroup_held = host.cgroup_usage;
  for (const std::string_view key : files.freeable)
    host.cgroup_held = less(host.cgroup_held, key);
}

void add_cgroup(HostMemory& host, const fs::path& root, std::string_view process) {
  for (const auto& [version, directories] : cgroup_paths(root, "memory", process)) {
    const CgroupFiles files = files_of(version);
    for (const fs::path& directory : directories) {
      for (const std::string_view name : files.limits) {
        const auto limit = limit_in(directory / name);
        if (!limit || (host.cgroup_limit && *host.cgroup_limit <= *limit)) continue;
        host.cgroup_limit = limit;
        add_usage(host, directory, files);
        host.cgroup_file = (directory / name).string();
      }
    }
  }
}

}  // namespace

ProcessMemory detail::process_memory_of(const fs::path& root, std::string_view process) {
  const std::string status = read_small_file(root / "proc" / process / "status").value_or("");
  const auto field = [&](std::string_view key) { return keyed_number(status, key).value_or(0); };
  return {.anonymous = field("RssAnon"),
          .shared = field("RssShmem"),
          .page_locked = std::max(field("VmLck"), field("VmPin")),
          .file_backed = field("RssFile"),
          .data_segment = field("VmData"),
          .peak_resident = field("VmHWM")};
}

ProcessMemory read_process_memory(const fs::path& root) {
  return detail::process_memory_of(root, "self");
}

bool reset_peak_resident(const fs::path& root) {
  constexpr int peak_of_resident = 5;  // proc(5), clear_refs
  std::ofstream file(root / "proc/self/clear_refs");
  file << peak_of_resident << std::flush;
  return file.good();
}

std::uint64_t HostMemory::room() const {
  if (!cgroup_limit) return available;
  return std::min(available, *cgroup_limit - std::min(*cgroup_limit, cgroup_usage));
}

HostMemory detail::host_memory_of(const fs::path& root, std::string_view process) {
  const std::string text = read_small_file(root / "proc/meminfo").value_or("");
  HostMemory host{.total = keyed_number(text, "MemTotal").value_or(0),
                  .available = keyed_number(text, "MemAvailable").value_or(0)};
  add_cgroup(host, root, process);
  return host;
}

HostMemory read_host_memory(const fs::path& root) {
  return detail::host_memory_of(root, "self");
}

std::vector<MemoryLimit> kernel_memory_limits(const fs::path& root) {
  std::vector<MemoryLimit> limits;
  const HostMemory host = read_host_memory(root);
  if (host.cgroup_limit)
    limits.push_back({*host.cgroup_limit, std::string(of_cgroup) + host.cgroup_file});
  if (const auto data = data_limit()) limits.push_back({*data, std::string(of_rlimit)});
  return limits;
}

std::optional<std::uint64_t> data_limit() {
  rlimit data{};
  if (getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return data.rlim_cur;
}

std::uint64_t stack_bytes() {
  rlimit limit{};
  constexpr std::uint64_t usual = 8ULL << 20;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual;
  return limit.rlim_cur;
}

std::uint64_t stack_bytes_of_threads(const fs::path& root) {
  std::error_code missing;
  const fs::directory_iterator threads(root / "proc/self/task", missing);
  if (missing) return 0;
  const auto count = std::distance(begin(threads), end(threads));
  return static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(count - 1, 0)) * stack_bytes();
}

MemoryLimit tightest_memory_limit(std::optional<std::uint64_t> configured, const fs::path& root) {
  const HostMemory host = read_host_memory(root);
  MemoryLimit limit{host.total > 0 ? host.total : UINT64_MAX, "machine"};
  for (const MemoryLimit& of_kernel : kernel_memory_limits(root))
    if (of_kernel.bytes < limit.bytes) limit = of_kernel;
  if (configured && *configured <= limit.bytes) limit = {*configured, "configuration"};
  return limit;
}

double MemoryUse::share() const {
  const bool of_kernel = limit.source.starts_with(of_cgroup) || limit.source == of_rlimit;
  const double most = (of_kernel ? 0.98 : 1.0) * static_cast<double>(limit.bytes);
  return most > 0.0 ? static_cast<double>(bytes) / most : 0.0;
}

MemoryUse memory_use(const MemoryLimit& limit, const ProcessMemory& memory, const fs::path& root) {
  if (limit.source == of_rlimit) return {.bytes = memory.data_segment, .limit = limit};
  if (!limit.source.starts_with(of_cgroup)) return {.bytes = memory.held(), .limit = limit};
  return {.bytes = std::max(memory.held(), read_host_memory(root).cgroup_held), .limit = limit};
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
