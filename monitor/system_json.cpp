#include <headrace/monitor/detail/json_parts.h>
#include <headrace/monitor/system_json.h>

#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::monitor {
namespace {

using Json = nlohmann::ordered_json;
using detail::bytes;
using detail::put;
using detail::rounded;

// "2026-11-21T09:22:27.250Z"
std::string utc(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     unix_ms % 1000);
}

std::int64_t unix_ms_of(const std::string& text) {
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  std::int64_t ms = 0;
  if (*rest == '.') ms = std::strtol(rest + 1, nullptr, 10);
  return static_cast<std::int64_t>(timegm(&parts)) * 1000 + ms;
}

void put_moment(Json& line, const RunMoment& moment) {
  if (!moment.phase.empty()) line["phase"] = moment.phase;
  if (moment.epoch) line["epoch"] = *moment.epoch;
}

void put_machine(Json& line, const SystemSample& sample) {
  line["at_s"] = rounded(sample.at_s, 3);
  if (sample.unix_ms != 0) line["time"] = utc(sample.unix_ms);
  line["interval_s"] = rounded(sample.interval_s, 3);
  line["cores"] = sample.cores;
  line["machine_share"] = rounded(sample.machine_share, 4);
  line["iowait_share"] = rounded(sample.iowait_share, 4);
  line["steal_share"] = rounded(sample.steal_share, 4);
  if (sample.host.total > 0) {
    line["memory_total_bytes"] = sample.host.total;
    line["memory_available_bytes"] = sample.host.available;
  }
  if (sample.host.cgroup_limit) {
    line["cgroup_limit_bytes"] = *sample.host.cgroup_limit;
    line["cgroup_usage_bytes"] = sample.host.cgroup_usage;
  }
  if (!sample.pressure) return;
  line["pressure_cpu_share"] = rounded(sample.pressure->cpu_some, 4);
  line["pressure_memory_share"] = rounded(sample.pressure->memory_some, 4);
  line["pressure_io_share"] = rounded(sample.pressure->io_some, 4);
}

void put_tree(Json& line, const SystemSample& sample) {
  const TreeUse& tree = sample.tree;
  if (tree.processes == 0) return;
  line["process_share"] = rounded(share_of_cores(sample), 4);
  line["process_cores"] = rounded(tree.cores, 3);
  line["process_cpu_s"] = rounded(tree.cpu_s, 2);
  line["processes"] = tree.processes;
  line["threads"] = tree.threads;
  if (tree.open_files > 0) line["open_files"] = tree.open_files;
  if (sample.memory.held() > 0) line["memory_held_bytes"] = sample.memory.held();
  line["memory_resident_bytes"] = tree.resident;
  if (tree.reads_told) {
    line["read_bytes_per_s"] = bytes(tree.read_per_s);
    line["disk_read_bytes_per_s"] = bytes(tree.read_from_disk_per_s);
  }
  line["major_faults_per_s"] = rounded(tree.major_faults_per_s, 1);
}

void put_devices(Json& line, const SystemSample& sample) {
  Json disks = Json::array();
  for (const DiskUse& disk : sample.disks)
    if (disk.requests_per_s > 0 || disk.busy_share > 0)
      disks.push_back({{"name", disk.name},
                       {"read_bytes_per_s", bytes(disk.read_per_s)},
                       {"written_bytes_per_s", bytes(disk.written_per_s)},
                       {"requests_per_s", rounded(disk.requests_per_s, 1)},
                       {"busy_share", rounded(disk.busy_share, 4)}});
  if (!disks.empty()) line["disks"] = std::move(disks);
  Json networks = Json::array();
  for (const NetworkUse& network : sample.networks)
    if (network.received_per_s > 0 || network.sent_per_s > 0)
      networks.push_back({{"name", network.name},
                          {"received_bytes_per_s", bytes(network.received_per_s)},
                          {"sent_bytes_per_s", bytes(network.sent_per_s)}});
  if (!networks.empty()) line["networks"] = std::move(networks);
}

void put_processes(Json& line, const SystemSample& sample) {
  Json busiest = Json::array();
  for (const ProcessUsage& process : sample.busiest)
    busiest.push_back({{"pid", process.pid},
                       {"name", process.name},
                       {"cores", rounded(process.cores, 3)},
                       {"ours", process.ours}});
  if (!busiest.empty()) line["busiest"] = std::move(busiest);
  if (!sample.allocator) return;
  line["allocator"] = {{"allocated_bytes", sample.allocator->allocated},
                       {"reserved_bytes", sample.allocator->reserved},
                       {"inactive_split_bytes", sample.allocator->inactive_split},
                       {"retries", sample.allocator->retries}};
}

void read_machine(SystemSample& sample, const Json& line) {
  put(sample.at_s, line, "at_s");
  put(sample.interval_s, line, "interval_s");
  put(sample.cores, line, "cores");
  put(sample.machine_share, line, "machine_share");
  put(sample.iowait_share, line, "iowait_share");
  put(sample.steal_share, line, "steal_share");
  put(sample.host.total, line, "memory_total_bytes");
  put(sample.host.available, line, "memory_available_bytes");
  put(sample.host.cgroup_limit, line, "cgroup_limit_bytes");
  put(sample.host.cgroup_usage, line, "cgroup_usage_bytes");
  std::string time;
  put(time, line, "time");
  if (!time.empty()) sample.unix_ms = unix_ms_of(time);
  if (!line.contains("pressure_cpu_share") && !line.contains("pressure_io_share")) return;
  sample.pressure.emplace();
  put(sample.pressure->cpu_some, line, "pressure_cpu_share");
  put(sample.pressure->memory_some, line, "pressure_memory_share");
  put(sample.pressure->io_some, line, "pressure_io_share");
}

void read_tree(SystemSample& sample, const Json& line) {
  TreeUse& tree = sample.tree;
  put(tree.processes, line, "processes");
  tree.lives = tree.processes > 0;
  put(tree.threads, line, "threads");
  put(tree.cpu_s, line, "process_cpu_s");
  put(tree.cores, line, "process_cores");
  put(tree.resident, line, "memory_resident_bytes");
  put(tree.open_files, line, "open_files");
  tree.reads_told = line.contains("read_bytes_per_s");
  put(tree.read_per_s, line, "read_bytes_per_s");
  put(tree.read_from_disk_per_s, line, "disk_read_bytes_per_s");
  put(tree.major_faults_per_s, line, "major_faults_per_s");
  put(sample.memory.anonymous, line, "memory_held_bytes");
}

void read_devices(SystemSample& sample, const Json& line) {
  for (const Json& item : detail::items(line, "disks")) {
    DiskUse& disk = sample.disks.emplace_back();
    put(disk.name, item, "name");
    put(disk.read_per_s, item, "read_bytes_per_s");
    put(disk.written_per_s, item, "written_bytes_per_s");
    put(disk.requests_per_s, item, "requests_per_s");
    put(disk.busy_share, item, "busy_share");
  }
  for (const Json& item : detail::items(line, "networks")) {
    NetworkUse& network = sample.networks.emplace_back();
    put(network.name, item, "name");
    put(network.received_per_s, item, "received_bytes_per_s");
    put(network.sent_per_s, item, "sent_bytes_per_s");
  }
}

void read_processes(SystemSample& sample, const Json& line) {
  for (const Json& item : detail::items(line, "busiest")) {
    ProcessUsage& process = sample.busiest.emplace_back();
    put(process.pid, item, "pid");
    put(process.name, item, "name");
    put(process.cores, item, "cores");
    put(process.ours, item, "ours");
  }
  const auto allocator = line.find("allocator");
  if (allocator == line.end() || !allocator->is_object()) return;
  sample.allocator.emplace();
  put(sample.allocator->allocated, *allocator, "allocated_bytes");
  put(sample.allocator->reserved, *allocator, "reserved_bytes");
  put(sample.allocator->inactive_split, *allocator, "inactive_split_bytes");
  put(sample.allocator->retries, *allocator, "retries");
}

Json parsed(std::string_view line) {
  return Json::parse(line, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

std::string system_line(const SystemSample& sample, const RunMoment& moment) {
  Json line;
  put_machine(line, sample);
  put_moment(line, moment);
  put_tree(line, sample);
  put_devices(line, sample);
  detail::put_gpus(line, sample);
  put_processes(line, sample);
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<SystemSample> read_system_line(std::string_view text) {
  const Json line = parsed(text);
  if (!line.is_object() || !line.contains("at_s") || !line.contains("machine_share"))
    return std::nullopt;
  SystemSample sample;
  read_machine(sample, line);
  read_tree(sample, line);
  read_devices(sample, line);
  detail::read_gpus(sample, line);
  read_processes(sample, line);
  return sample;
}

RunMoment read_run_moment(std::string_view text) {
  RunMoment moment;
  const Json line = parsed(text);
  if (!line.is_object()) return moment;
  put(moment.phase, line, "phase");
  put(moment.epoch, line, "epoch");
  return moment;
}

}  // namespace headrace::inline v1::monitor
