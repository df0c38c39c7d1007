#include <headrace/apps/measure/doctor/checks/checks.h>
#include <headrace/apps/measure/doctor/mounts.h>
#include <headrace/monitor/format.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_seconds;
using monitor::Severity;

std::string per_second(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(bytes)) + "/s";
}

std::string mount_text(const Mount& mount) {
  return fmt::format("{} on {}", mount.type, mount.point.string());
}

Finding data_place(const EnvironmentOptions& options, const EnvironmentFacts& facts) {
  constexpr const char* what = "storage of the data";
  const auto mount = mount_of(nearest_present(options.data), options.root);
  if (!mount) return unknown(what, "proc/self/mountinfo cannot be read");
  Finding finding{.what = what, .found = mount_text(*mount), .wanted = "local storage"};
  switch (storage_kind(mount->type)) {
    case StorageKind::network:
    case StorageKind::fuse:
      finding.severity = Severity::notice;
      finding.way_out = options.needs.can_stage
                            ? "set data.stage to a local folder: records are copied there once"
                            : "copy the data to a local disk, or pack them (headrace pack)";
      return finding;
    case StorageKind::memory:
      finding.severity = Severity::notice;
      finding.wanted = "memory that nobody else needs";
      finding.way_out =
          fmt::format("these files count as memory: leave it out of {}, or move them to a disk",
                      options.needs.memory_key);
      if (facts.data_space)
        finding.found += fmt::format(
            ", {} in use", format_bytes(facts.data_space->total -
                                        std::min(facts.data_space->total, facts.data_space->free)));
      return finding;
    case StorageKind::other:
      return unknown(what, fmt::format("{} is a type that is not known here", mount_text(*mount)));
    case StorageKind::local:
    case StorageKind::overlay:
      return finding;
  }
  return finding;
}

// Without anybody's wish: what a spinning disk gives for pieces anywhere, and less than any disk
// does in order.
constexpr double slow_random_per_s = 20.0 * 1024 * 1024;
constexpr double slow_sequential_per_s = 80.0 * 1024 * 1024;

std::string faster_reads(const EnvironmentNeeds& needs) {
  return fmt::format("{}{}{}move the files to a faster disk, or pack them (headrace pack)",
                     needs.can_stage ? "set data.stage to a faster folder, " : "",
                     needs.can_cache ? "set data.cache.memory or data.cache.disk, " : "",
                     needs.can_stage || needs.can_cache ? "or " : "");
}

Finding data_speed(const EnvironmentOptions& options, const std::optional<ReadSpeed>& speed) {
  constexpr const char* what = "read speed of the data";
  if (!speed) return unknown(what, "no file of them could be read");
  Finding finding{
      .what = what,
      .found = fmt::format("{} in order, {} in pieces of 128 KiB",
                           per_second(speed->sequential_per_s), per_second(speed->random_per_s))};
  constexpr double much = 0.1;
  if (speed->cached_share > much) {
    return unknown(what,
                   fmt::format("pages stay in memory, so this is memory's: {}", finding.found));
  }
  const auto wanted = options.needs.read_per_s;
  finding.wanted = wanted ? fmt::format("at least {} for the step", per_second(*wanted))
                          : fmt::format("at least {} and {}", per_second(slow_sequential_per_s),
                                        per_second(slow_random_per_s));
  const bool slow = wanted ? speed->sequential_per_s < *wanted
                           : speed->sequential_per_s < slow_sequential_per_s ||
                                 speed->random_per_s < slow_random_per_s;
  if (!slow) return finding;
  finding.severity = Severity::warning;
  finding.way_out = faster_reads(options.needs);
  return finding;
}

Finding run_place(const EnvironmentOptions& options) {
  constexpr const char* what = "storage of the runs";
  const auto mount = mount_of(nearest_present(options.runs), options.root);
  if (!mount) return unknown(what, "proc/self/mountinfo cannot be read");
  Finding finding{.what = what, .found = mount_text(*mount), .wanted = "storage that lasts"};
  switch (storage_kind(mount->type)) {
    case StorageKind::memory:
      finding.severity = Severity::warning;
      finding.way_out = "checkpoints are lost with the machine: set runs to a folder on a disk";
      return finding;
    case StorageKind::overlay:
      finding.severity = Severity::warning;
      finding.way_out =
          "checkpoints are lost with the container: set runs to a folder that is mounted into it";
      return finding;
    case StorageKind::other:
      return unknown(what, fmt::format("{} is a type that is not known here", mount_text(*mount)));
    case StorageKind::local:
    case StorageKind::network:
    case StorageKind::fuse:
      return finding;
  }
  return finding;
}

Finding run_space(const EnvironmentOptions& options, const std::optional<FolderSpace>& space) {
  constexpr const char* what = "space for runs";
  if (!space) return unknown(what, "the file system does not say");
  constexpr std::uint64_t usual = 2ULL << 30;
  const std::uint64_t wanted = options.needs.run_bytes.value_or(usual);
  Finding finding{
      .what = what,
      .found = fmt::format("{} of {} free", format_bytes(space->free), format_bytes(space->total)),
      .wanted = "at least " + format_bytes(wanted)};
  if (space->free >= wanted) return finding;
  finding.severity = options.needs.run_bytes ? Severity::error : Severity::warning;
  finding.way_out = "remove old runs, or set runs to a folder with more space";
  return finding;
}

Finding run_fsync(const std::optional<double>& seconds) {
  constexpr const char* what = "fsync of the runs";
  if (!seconds) return unknown(what, "no file could be written there");
  constexpr double slow_s = 0.1;
  Finding finding{.what = what,
                  .found = format_seconds(*seconds),
                  .wanted = "at most " + format_seconds(slow_s)};
  if (*seconds <= slow_s) return finding;
  finding.severity = Severity::warning;
  finding.way_out = "set runs to faster storage, or training.checkpoint_every higher";
  return finding;
}

}  // namespace

void check_data_storage(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                        Findings& findings) {
  if (options.data.empty()) return;
  findings.push_back(data_place(options, facts));
  findings.push_back(data_speed(options, facts.read_speed));
}

void check_run_storage(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                       Findings& findings) {
  if (options.runs.empty()) return;
  findings.push_back(run_place(options));
  findings.push_back(run_space(options, facts.run_space));
  findings.push_back(run_fsync(facts.fsync_s));
}

}  // namespace headrace::inline v1::app
