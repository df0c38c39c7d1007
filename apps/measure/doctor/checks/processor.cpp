#include <headrace/apps/measure/doctor/checks/checks.h>
#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/advice/advice_thresholds.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <map>
#include <system_error>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::Severity;

std::string cores_text(double cores) {
  return cores == static_cast<double>(static_cast<int>(cores))
             ? fmt::format("{} core{}", static_cast<int>(cores), cores == 1.0 ? "" : "s")
             : fmt::format("{:.2f} cores", cores);
}

Finding quota_finding(const std::filesystem::path& root, unsigned cpus,
                      const std::optional<double>& quota) {
  constexpr const char* what = "CPU quota";
  if (quota) return {.what = what, .found = fmt::format("{} of {} CPUs", cores_text(*quota), cpus)};
  if (!headrace::detail::read_small_file(root / "proc/self/cgroup"))
    return unknown(what, "proc/self/cgroup cannot be read");
  return {.what = what, .found = fmt::format("none, {} CPUs", cpus)};
}

// Threads beyond the quota use it up early in each period and then all stand still.
Finding thread_finding(const char* key, int threads, unsigned cores, const std::string& granted,
                       unsigned most) {
  Finding finding{.what = key,
                  .found = threads == 0 ? fmt::format("0, which takes {}", cores)
                                        : fmt::format("{} on {}", threads, granted),
                  .wanted = fmt::format("at most {}", most)};
  if (threads <= static_cast<int>(most)) return finding;
  finding.severity = Severity::warning;
  finding.way_out = fmt::format("set {}: {}, or grant the run more cores", key, most);
  return finding;
}

// Workers that sleep more than they work may be more than the cores; a trial tells.
unsigned most_workers(const EnvironmentNeeds& needs, unsigned cores) {
  constexpr unsigned most_per_core = 4;
  const bool full =
      needs.process_share && *needs.process_share >= monitor::AdviceThresholds().full_cpu;
  if (full) return cores;
  const auto asked = static_cast<unsigned>(std::max(needs.loader_threads, 0));
  return needs.process_share ? std::max(asked, cores) : most_per_core * cores;
}

}  // namespace

void check_cpu_share(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                     Findings& findings) {
  const std::optional<double> quota = monitor::cpu_quota(options.root);
  if (facts.affinity.empty()) {
    findings.push_back(unknown("CPU quota", "the CPUs that this process may use are not known"));
    return;
  }
  const auto cpus = static_cast<unsigned>(facts.affinity.size());
  const unsigned cores = monitor::usable_cores(cpus, quota);
  const double granted = quota ? std::min(*quota, static_cast<double>(cpus)) : cpus;
  findings.push_back(quota_finding(options.root, cpus, quota));
  findings.push_back(thread_finding("threads.loader", options.needs.loader_threads, cores,
                                    cores_text(granted), most_workers(options.needs, cores)));
  findings.push_back(thread_finding("threads.torch", options.needs.torch_threads, cores,
                                    cores_text(granted), cores));
}

namespace {

namespace fs = std::filesystem;
using headrace::detail::read_small_file;
using headrace::detail::split_lines;
using headrace::detail::split_words;
using monitor::format_share;

std::string word_in(const fs::path& file) {
  const std::string text = read_small_file(file).value_or("");
  const auto words = split_words(text);
  return words.empty() ? std::string{} : std::string(words.front());
}

// Folders of the CPUs' clocks.
std::vector<fs::path> clock_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(root / "sys/devices/system/cpu", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() < 4 || !name.starts_with("cpu") || name[3] < '0' || name[3] > '9') continue;
    const fs::path clock = it->path() / "cpufreq";
    if (fs::is_directory(clock, error)) folders.push_back(clock);
  }
  return folders;
}

// These drivers follow the load under "powersave", too, as far as their preference lets them.
bool follows_load(const fs::path& clock) {
  const std::string driver = word_in(clock / "scaling_driver");
  if (driver != "intel_pstate" && driver != "amd-pstate-epp") return false;
  const std::string preference = word_in(clock / "energy_performance_preference");
  return preference == "performance" || preference == "balance_performance" ||
         preference == "default";
}

Finding governor(const fs::path& root) {
  constexpr const char* what = "CPU governor";
  std::map<std::string, int> count;
  int slow = 0;
  for (const fs::path& clock : clock_folders(root)) {
    const std::string word = word_in(clock / "scaling_governor");
    if (word.empty()) continue;
    ++count[word];
    if (word == "powersave" && !follows_load(clock)) ++slow;
  }
  if (count.empty()) return unknown(what, "sys/devices/system/cpu shows none (virtual machine?)");
  std::string found;
  for (const auto& [word, cpus] : count)
    found += fmt::format("{}{} on {} CPU{}", found.empty() ? "" : ", ", word, cpus,
                         cpus == 1 ? "" : "s");
  Finding finding{.what = what, .found = found, .wanted = "performance, or one that follows load"};
  if (slow == 0) return finding;
  finding.severity = Severity::warning;
  finding.way_out = "as root: cpupower frequency-set -g performance";
  return finding;
}

Finding virtual_machine(const fs::path& root) {
  constexpr const char* what = "virtual machine";
  const auto text = read_small_file(root / "proc/cpuinfo");
  if (!text) return unknown(what, "proc/cpuinfo cannot be read");
  for (const std::string_view line : split_lines(*text)) {
    if (!line.starts_with("flags")) continue;
    const auto flags = split_words(line);
    const bool virtual_one = std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
    return {.what = what, .found = virtual_one ? "yes" : "no"};
  }
  return unknown(what, "proc/cpuinfo shows no flags");
}

Finding stolen_time(const std::optional<OtherLoad>& others) {
  constexpr const char* what = "CPU time stolen";
  if (!others) return unknown(what, "not measured");
  constexpr double much = 0.05;
  Finding finding{.what = what,
                  .found = format_share(others->steal_share),
                  .wanted = "at most " + format_share(much)};
  if (others->steal_share <= much) return finding;
  finding.severity = Severity::warning;
  finding.way_out = "the hypervisor gives these CPUs to other machines: ask for dedicated ones";
  return finding;
}

std::string names_of(const std::vector<monitor::ProcessUsage>& processes) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, processes.size()); ++i)
    if (processes[i].cores >= 0.05)
      names += fmt::format("{}{} {} ({:.1f} cores)", names.empty() ? "" : ", ", processes[i].name,
                           processes[i].pid, processes[i].cores);
  return names;
}

Finding load_by_others(const std::optional<OtherLoad>& others) {
  constexpr const char* what = "load by others";
  if (!others) return unknown(what, "not measured");
  constexpr double some = 0.05;
  constexpr double much = 0.25;
  const double share = others->cores / others->machine_cores;
  const std::string names = names_of(others->busiest);
  Finding finding{.what = what,
                  .found = fmt::format("{:.1f} of {} CPUs{}{}", others->cores,
                                       others->machine_cores, names.empty() ? "" : ": ", names),
                  .wanted = fmt::format("at most {} of them", format_share(some))};
  if (share <= some) return finding;
  finding.severity = share > much ? Severity::warning : Severity::notice;
  finding.way_out = names.empty()
                        ? "processes that are not seen from here use the CPUs: look from the host"
                        : "end them, move them, or give the run CPUs of its own (taskset)";
  return finding;
}

}  // namespace

void check_cpu_state(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                     Findings& findings) {
  findings.push_back(governor(options.root));
  findings.push_back(virtual_machine(options.root));
  findings.push_back(stolen_time(facts.others));
  findings.push_back(load_by_others(facts.others));
}

}  // namespace headrace::inline v1::app
