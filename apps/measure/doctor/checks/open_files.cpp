#include <headrace/apps/measure/doctor/checks/checks.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/system/file_limits.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::no_limit;
using monitor::Severity;

// Where nobody says how many files are needed: 1024 is the usual limit, and too low for folders of
// files that stay open.
constexpr std::uint64_t few_files = 4096;
constexpr std::uint64_t many_files = 65535;

std::string count_text(std::uint64_t count) {
  return count == no_limit ? "unlimited" : std::to_string(count);
}

std::string bytes_text(std::uint64_t bytes) {
  return bytes == no_limit ? "unlimited" : format_bytes(bytes);
}

std::string raise_files(std::uint64_t hard, std::uint64_t wanted) {
  if (hard >= wanted) return fmt::format("ulimit -n {}", wanted);
  return fmt::format(
      "as root: prlimit --pid $$ --nofile={0}:{0} (for good: \"* - nofile {0}\" in "
      "/etc/security/limits.conf; in Docker: --ulimit nofile={0}:{0})",
      wanted);
}

Finding open_files(const monitor::RunFacts::Files& files, bool known_need) {
  const std::uint64_t least = known_need ? files.needed : few_files;
  Finding finding{
      .what = "open files",
      .found = fmt::format("at most {} (hard limit {}), {} are open", count_text(files.limit),
                           count_text(files.hard_limit), files.open),
      .wanted = fmt::format("at least {}", least)};
  if (files.limit >= least) return finding;
  finding.severity = known_need && files.hard_limit < least ? Severity::error : Severity::warning;
  finding.way_out = raise_files(files.hard_limit, std::max(least, many_files));
  if (files.hard_limit >= least && files.hard_limit < many_files)
    finding.way_out = raise_files(files.hard_limit, files.hard_limit);
  return finding;
}

// NVIDIA's driver locks pages on its own account, which this limit does not hold; so it is no
// fault, and what to do is said for the case that locking fails.
Finding locked_memory(const monitor::RunFacts::Files& files, bool known_need) {
  Finding finding{.what = "locked memory", .found = "at most " + bytes_text(files.locked_limit)};
  if (!known_need) return finding;
  finding.wanted = fmt::format("{} of page-locked slabs", format_bytes(files.locked_needed));
  if (files.locked_limit >= files.locked_needed) return finding;
  finding.severity = Severity::notice;
  finding.way_out =
      "where a run says that pages could not be locked: ulimit -l unlimited (in "
      "Docker: --ulimit memlock=-1)";
  return finding;
}

}  // namespace

void check_file_limits(const EnvironmentOptions& options, Findings& findings) {
  const EnvironmentNeeds& needs = options.needs;
  const auto files = monitor::read_file_limits(
      {.open = needs.open_files.value_or(0), .locked = needs.locked_bytes.value_or(0)},
      options.root);
  if (!files) {
    findings.push_back(unknown("open files", "proc/self/limits cannot be read"));
    findings.push_back(unknown("locked memory", "proc/self/limits cannot be read"));
    return;
  }
  findings.push_back(open_files(*files, needs.open_files.has_value()));
  findings.push_back(locked_memory(*files, needs.locked_bytes.has_value()));
}

}  // namespace headrace::inline v1::app
