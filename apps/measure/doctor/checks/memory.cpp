#include <headrace/apps/measure/doctor/checks/checks.h>
#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using headrace::detail::keyed_number;
using headrace::detail::read_small_file;
using monitor::format_bytes;
using monitor::Severity;

Finding limit_finding(const EnvironmentOptions& options) {
  constexpr const char* what = "memory limit";
  const monitor::HostMemory host = monitor::read_host_memory(options.root);
  if (host.total == 0) return unknown(what, "proc/meminfo cannot be read");
  if (!read_small_file(options.root / "proc/self/cgroup"))
    return unknown(what, "proc/self/cgroup cannot be read");
  const std::uint64_t limit = std::min(host.total, host.cgroup_limit.value_or(host.total));
  const bool of_cgroup = host.cgroup_limit && *host.cgroup_limit < host.total;
  Finding finding{.what = what,
                  .found = fmt::format("{} ({})", format_bytes(limit),
                                       of_cgroup ? "cgroup" : "the machine's memory")};
  if (!options.needs.memory_limit) return finding;
  finding.wanted =
      fmt::format("{} is {}", options.needs.memory_key, format_bytes(*options.needs.memory_limit));
  if (*options.needs.memory_limit <= limit) return finding;
  finding.severity = Severity::warning;
  finding.way_out =
      fmt::format("set {} to at most {}, or raise {}", options.needs.memory_key,
                  format_bytes(limit), of_cgroup ? host.cgroup_file : "the machine's memory");
  return finding;
}

Finding swap_finding(const fs::path& root) {
  constexpr const char* what = "swap";
  const std::string text = read_small_file(root / "proc/meminfo").value_or("");
  const auto memory = keyed_number(text, "MemTotal");
  const auto total = keyed_number(text, "SwapTotal");
  const auto free = keyed_number(text, "SwapFree");
  if (!memory || !total || !free) return unknown(what, "proc/meminfo does not say");
  if (*total == 0) return {.what = what, .found = "none"};
  const std::uint64_t used = *total - std::min(*total, *free);
  Finding finding{.what = what,
                  .found = fmt::format("{} of {} in use", format_bytes(used), format_bytes(*total)),
                  .wanted = "hardly any in use"};
  constexpr double much = 0.05;
  if (static_cast<double>(used) <= much * static_cast<double>(*memory)) return finding;
  finding.severity = Severity::warning;
  finding.way_out =
      "free memory: end what fills it, or set memory.limit lower; then swapoff -a && "
      "swapon -a as root";
  return finding;
}

Finding shared_memory(const fs::path& root, const std::optional<FolderSpace>& space) {
  constexpr const char* what = "/dev/shm";
  const std::uint64_t memory = monitor::read_host_memory(root).total;
  if (!space || memory == 0) return unknown(what, "its size cannot be read");
  const std::uint64_t used = space->total - std::min(space->total, space->free);
  Finding finding{
      .what = what,
      .found = fmt::format("{} of {} in use", format_bytes(used), format_bytes(space->total)),
      .wanted = "hardly any in use"};
  constexpr double much = 0.05;
  if (static_cast<double>(used) <= much * static_cast<double>(memory)) return finding;
  finding.severity = Severity::warning;
  finding.way_out = "it counts as memory: remove what ended programs left there (ls -l /dev/shm)";
  return finding;
}

}  // namespace

void check_memory(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                  Findings& findings) {
  findings.push_back(limit_finding(options));
  findings.push_back(swap_finding(options.root));
  findings.push_back(shared_memory(options.root, facts.shared_memory));
}

namespace {

constexpr const char* switch_file = "sys/kernel/mm/transparent_hugepage/enabled";

// "always [madvise] never"
std::string chosen_word(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

Finding transparent(const std::filesystem::path& root) {
  constexpr const char* what = "transparent huge pages";
  const auto text = read_small_file(root / switch_file);
  if (!text) return unknown(what, fmt::format("{} cannot be read", switch_file));
  const std::string word = chosen_word(*text);
  if (word.empty()) return unknown(what, fmt::format("{} is not understood", switch_file));
  Finding finding{.what = what, .found = word, .wanted = "madvise or always"};
  if (word != "never") return finding;
  finding.severity = Severity::notice;
  finding.way_out =
      fmt::format("as root: echo madvise > /{} (batches then take fewer page faults)", switch_file);
  return finding;
}

// Pages that are set aside are lost to everybody who does not ask for them, and no part of us does.
Finding set_aside(const std::filesystem::path& root) {
  constexpr const char* what = "huge pages set aside";
  const std::string text = read_small_file(root / "proc/meminfo").value_or("");
  const auto total = keyed_number(text, "MemTotal");
  const auto free = keyed_number(text, "HugePages_Free");
  const auto size = keyed_number(text, "Hugepagesize");
  if (!total || !free || !size) return unknown(what, "proc/meminfo does not say");
  const std::uint64_t unused = *free * *size;
  Finding finding{.what = what,
                  .found = unused == 0 ? "none unused" : monitor::format_bytes(unused) + " unused",
                  .wanted = "none unused"};
  constexpr double much = 0.05;
  if (static_cast<double>(unused) <= much * static_cast<double>(*total)) return finding;
  finding.severity = Severity::warning;
  finding.way_out = "as root: sysctl vm.nr_hugepages=0, unless another program waits for them";
  return finding;
}

}  // namespace

void check_huge_pages(const EnvironmentOptions& options, Findings& findings) {
  findings.push_back(transparent(options.root));
  findings.push_back(set_aside(options.root));
}

}  // namespace headrace::inline v1::app
