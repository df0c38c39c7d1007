#include <headrace/apps/doctor/checks/checks.h>
#include <headrace/apps/doctor/environment.h>

#include <algorithm>

namespace headrace::inline v1::app {

Findings check_environment(const EnvironmentOptions& options) {
  const EnvironmentFacts facts =
      options.facts ? *options.facts : read_environment_facts(options.data, options.runs);
  Findings findings;
  check_gpu(options, facts, findings);
  check_file_limits(options, findings);
  check_huge_pages(options, findings);
  check_cpu_share(options, facts, findings);
  check_cpu_state(options, facts, findings);
  check_numa(options, facts, findings);
  check_memory(options, facts, findings);
  check_data_storage(options, facts, findings);
  check_run_storage(options, facts, findings);
  // Of the same severity what is not known comes behind what is.
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.known && !b.known;
  });
  return findings;
}

}  // namespace headrace::inline v1::app
