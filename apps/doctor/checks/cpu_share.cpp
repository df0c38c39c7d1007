#include <headrace/apps/doctor/checks/checks.h>
#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/advice_thresholds.h>
#include <headrace/monitor/process_memory.h>

#include <algorithm>

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

}  // namespace headrace::inline v1::app
