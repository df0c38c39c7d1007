#include <headrace/engine/base/internal/json_fields.h>
#include <headrace/monitor/system/detail/json_parts.h>
#include <headrace/monitor/system/system_json.h>

#include <ctime>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::monitor {
namespace {

using Json = nlohmann::ordered_json;
using detail::LineReader;
using detail::LineWriter;

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

template <class Sample>
constexpr bool reads = !std::is_const_v<std::remove_reference_t<Sample>>;

void machine_fields(of_type<SystemSample> auto& sample, const auto& field) {
  field.figure("at_s", sample.at_s, 3);
  std::string time = sample.unix_ms == 0 ? std::string() : utc(sample.unix_ms);
  field.known("time", time);
  if constexpr (reads<decltype(sample)>)
    if (!time.empty()) sample.unix_ms = unix_ms_of(time);
  field.figure("interval_s", sample.interval_s, 3);
  field("cores", sample.cores);
  field.share("machine_share", sample.machine_share);
  field.share("iowait_share", sample.iowait_share);
  field.share("steal_share", sample.steal_share);
  if (field.when(sample.host.total > 0)) {
    field("memory_total_bytes", sample.host.total);
    field("memory_available_bytes", sample.host.available);
  }
  if (field.when(sample.host.cgroup_limit.has_value())) {
    field("cgroup_limit_bytes", sample.host.cgroup_limit);
    field("cgroup_usage_bytes", sample.host.cgroup_usage);
  }
  if (!field.there(sample.pressure, {"pressure_cpu_share", "pressure_io_share"})) return;
  field.share("pressure_cpu_share", sample.pressure->cpu_some);
  field.share("pressure_memory_share", sample.pressure->memory_some);
  field.share("pressure_io_share", sample.pressure->io_some);
}

void tree_fields(of_type<SystemSample> auto& sample, const auto& field) {
  auto& tree = sample.tree;
  if (!field.when(tree.processes > 0)) return;
  if constexpr (!reads<decltype(sample)>) field.share("process_share", share_of_cores(sample));
  field.figure("process_cores", tree.cores, 3);
  field.figure("process_cpu_s", tree.cpu_s, 2);
  field("processes", tree.processes);
  field("threads", tree.threads);
  field.known("open_files", tree.open_files);
  std::uint64_t held = sample.memory.held();
  field.known("memory_held_bytes", held);
  field("memory_resident_bytes", tree.resident);
  if (field.there(tree.reads_told, {"read_bytes_per_s"})) {
    field.bytes("read_bytes_per_s", tree.read_per_s);
    field.bytes("disk_read_bytes_per_s", tree.read_from_disk_per_s);
  }
  field.figure("major_faults_per_s", tree.major_faults_per_s, 1);
  if constexpr (reads<decltype(sample)>) {
    tree.lives = tree.processes > 0;
    sample.memory.anonymous = held;
  }
}

void device_fields(of_type<SystemSample> auto& sample, const auto& field) {
  field.list("disks", sample.disks, [](auto& disk, const auto& of) {
    if (!of.when(disk.requests_per_s > 0 || disk.busy_share > 0)) return;
    of("name", disk.name);
    of.bytes("read_bytes_per_s", disk.read_per_s);
    of.bytes("written_bytes_per_s", disk.written_per_s);
    of.figure("requests_per_s", disk.requests_per_s, 1);
    of.share("busy_share", disk.busy_share);
  });
  field.list("networks", sample.networks, [](auto& network, const auto& of) {
    if (!of.when(network.received_per_s > 0 || network.sent_per_s > 0)) return;
    of("name", network.name);
    of.bytes("received_bytes_per_s", network.received_per_s);
    of.bytes("sent_bytes_per_s", network.sent_per_s);
  });
}

void gpu_fields(of_type<GpuSample> auto& gpu, const auto& field) {
  field("index", gpu.index);
  field("name", gpu.name);
  field.share("busy_share", gpu.busy_share);
  field.share("sm_active_share", gpu.sm_active_share);
  field("memory_used_bytes", gpu.memory_used);
  field("memory_total_bytes", gpu.memory_total);
  field.figure("temperature_c", gpu.temperature_c, 1);
  field.figure("power_w", gpu.power_w, 1);
  field.figure("power_limit_w", gpu.power_limit_w, 1);
  field.figure("sm_clock_mhz", gpu.sm_clock_mhz, 0);
  field.figure("most_sm_clock_mhz", gpu.most_sm_clock_mhz, 0);
  field.figure("memory_clock_mhz", gpu.memory_clock_mhz, 0);
  field.bytes("pcie_received_bytes_per_s", gpu.pcie_received_per_s);
  field.bytes("pcie_sent_bytes_per_s", gpu.pcie_sent_per_s);
  field.known("throttled", gpu.throttled);
  field.list("processes", gpu.processes, [](auto& process, const auto& of) {
    of("pid", process.pid);
    of("name", process.name);
    of.known("memory_bytes", process.memory);
    of("ours", process.ours);
  });
}

void process_fields(of_type<SystemSample> auto& sample, const auto& field) {
  field.list("busiest", sample.busiest, [](auto& process, const auto& of) {
    of("pid", process.pid);
    of("name", process.name);
    of.figure("cores", process.cores, 3);
    of("ours", process.ours);
  });
  field.object("allocator", sample.allocator, [](auto& allocator, const auto& of) {
    of("allocated_bytes", allocator.allocated);
    of("reserved_bytes", allocator.reserved);
    of("inactive_split_bytes", allocator.inactive_split);
    of("retries", allocator.retries);
  });
}

void work_fields(of_type<SystemSample> auto& sample, const auto& field) {
  tree_fields(sample, field);
  device_fields(sample, field);
  field.list("gpus", sample.gpus, [](auto& gpu, const auto& of) { gpu_fields(gpu, of); });
  field.known("no_gpu", sample.no_gpu);
  process_fields(sample, field);
}

}  // namespace

std::string system_line(const SystemSample& sample, const RunMoment& moment) {
  Json line;
  const LineWriter writer{line};
  machine_fields(sample, writer);
  writer.known("phase", moment.phase);
  writer("epoch", moment.epoch);
  work_fields(sample, writer);
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<SystemSample> read_system_line(std::string_view text) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object() || !line.contains("at_s") || !line.contains("machine_share"))
    return std::nullopt;
  SystemSample sample;
  machine_fields(sample, LineReader{line});
  work_fields(sample, LineReader{line});
  return sample;
}

}  // namespace headrace::inline v1::monitor
