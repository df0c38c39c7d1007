#include <headrace/apps/doctor/checks/checks.h>
#include <headrace/engine/base/internal/proc_files.h>
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
Finding thread_finding(const char* key, int threads, unsigned cores, const std::string& granted) {
  Finding finding{.what = key,
                  .found = threads == 0 ? fmt::format("0, which takes {}", cores)
                                        : fmt::format("{} on {}", threads, granted),
                  .wanted = fmt::format("at most {}", cores)};
  if (threads <= static_cast<int>(cores)) return finding;
  finding.severity = Severity::warning;
  finding.way_out = fmt::format("set {}: {}, or grant the run more cores", key, cores);
  return finding;
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
  findings.push_back(
      thread_finding("threads.loader", options.needs.loader_threads, cores, cores_text(granted)));
  findings.push_back(
      thread_finding("threads.torch", options.needs.torch_threads, cores, cores_text(granted)));
}

}  // namespace headrace::inline v1::app
