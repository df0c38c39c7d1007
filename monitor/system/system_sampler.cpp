#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/gpu/gpu_sampler.h>
#include <headrace/monitor/memory/detail/memory_of.h>
#include <headrace/monitor/system/detail/device_meters.h>
#include <headrace/monitor/system/detail/pressure_meter.h>
#include <headrace/monitor/system/detail/proc_stat.h>
#include <headrace/monitor/system/detail/process_tree.h>
#include <headrace/monitor/system/system_sampler.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <linux/magic.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace headrace::inline v1::monitor::detail {
namespace {

// Linux 6.2 and later say the number as the folder's size; before, tens of thousands of names may
// have to be counted.
/// How many files a process has open, of its folder /proc/PID/fd; 0 where that may not be read.
std::uint64_t open_files(const std::filesystem::path& folder) {
  struct statfs system {};
  struct stat status {};
  if (::statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC &&
      ::stat(folder.c_str(), &status) == 0 && status.st_size > 0)
    return static_cast<std::uint64_t>(status.st_size);
  return numbered_entries(folder).size();
}

}  // namespace
}  // namespace headrace::inline v1::monitor::detail

namespace headrace::inline v1::monitor {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// As proc calls it: in a container proc may be that of another name space.
int own_pid(const fs::path& root) {
  std::error_code none;
  const fs::path name = fs::read_symlink(root / "proc/self", none);
  const auto number = headrace::detail::to_number(name.string());
  return number && *number > 0 ? static_cast<int>(*number) : getpid();
}

int machine_cores() {
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

int affinity_of(int pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : machine_cores();
}

std::int64_t unix_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

SystemSamplerOptions checked(SystemSamplerOptions options) {
  if (options.pid == 0) options.pid = own_pid(options.root);
  if (options.pid == SystemSamplerOptions::nobody) return options;
  const fs::path folder = options.root / "proc" / std::to_string(options.pid);
  const auto stat = detail::read_process_stat(folder / "stat");
  if (stat && !stat->ended()) return options;
  throw ConfigError(fmt::format(
      "[system sampler] a process to watch must be running, got {}, which {}; see ps for those "
      "that are",
      options.pid, stat ? "has ended" : "is not there"));
}

}  // namespace

struct SystemSampler::Parts {
  explicit Parts(SystemSamplerOptions given)
      : options(checked(std::move(given))),
        watches(options.pid != SystemSamplerOptions::nobody),
        process(watches ? std::to_string(options.pid) : "self"),
        tree(options.root / "proc", options.pid),
        pressure(options.root),
        disks(options.root),
        networks(options.root),
        gpus({.library = options.nvml_library,
              .root = options.root,
              .pid = options.pid,
              .pcie_every = options.pcie_every}) {
    if (watches) last_tree = tree.read();
    cores = static_cast<unsigned>(
        headrace::detail::usable_cores(watches ? affinity_of(options.pid) : machine_cores(),
                                       headrace::detail::cpu_quota(options.root, process)));
  }

  void add_machine(SystemSample& sample);
  void add_tree(SystemSample& sample);
  void add_allocator(SystemSample& sample) const;

  SystemSamplerOptions options;
  bool watches;
  std::string process;  // its name in proc
  detail::ProcessTree tree;
  detail::PressureMeter pressure;
  detail::DiskMeter disks;
  detail::NetworkMeter networks;
  GpuSampler gpus;
  unsigned cores = 1;
  Clock::time_point began = Clock::now();
  Clock::time_point last = began;
  std::vector<std::uint64_t> last_machine = detail::read_machine_ticks(options.root);
  detail::TreeReading last_tree{};
  ProcessTicks last_ticks{};
  Clock::time_point last_scan{};
};

SystemSampler::SystemSampler(SystemSamplerOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {}

SystemSampler::~SystemSampler() = default;

void SystemSampler::Parts::add_machine(SystemSample& sample) {
  std::vector<std::uint64_t> ticks = detail::read_machine_ticks(options.root);
  // Not told at this moment, for want of a file descriptor say: since boot is no interval.
  if (std::ranges::all_of(ticks, [](std::uint64_t count) { return count == 0; }))
    ticks = last_machine;
  const auto before = std::exchange(last_machine, std::move(ticks));
  const detail::MachineShares shares = detail::machine_shares(last_machine, before);
  sample.machine_share = shares.busy;
  sample.iowait_share = shares.iowait;
  sample.steal_share = shares.steal;
  sample.host = detail::host_memory_of(options.root, process);
  sample.pressure = pressure.sample(sample.interval_s);
  sample.disks = disks.sample(sample.interval_s);
  sample.networks = networks.sample(sample.interval_s);
}

void SystemSampler::Parts::add_tree(SystemSample& sample) {
  const detail::TreeReading before = std::exchange(last_tree, tree.read());
  const detail::TreeReading& now = last_tree;
  const auto per_s = [&](std::uint64_t later, std::uint64_t earlier) {
    return static_cast<double>(detail::grown(later, earlier)) / sample.interval_s;
  };
  const double tick_s = detail::seconds_per_tick();
  const auto page = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_PAGESIZE)));
  sample.tree = {.lives = now.lives,
                 .processes = now.processes,
                 .threads = now.threads,
                 .cpu_s = static_cast<double>(now.ticks) * tick_s,
                 .cores = per_s(now.ticks, before.ticks) * tick_s,
                 .resident = now.resident_pages * page,
                 .open_files = detail::open_files(options.root / "proc" / process / "fd"),
                 .reads_told = now.reads_told && before.reads_told,
                 .read_per_s = per_s(now.read, before.read),
                 .read_from_disk_per_s = per_s(now.read_from_disk, before.read_from_disk),
                 .major_faults_per_s = per_s(now.major_faults, before.major_faults)};
  sample.memory = detail::process_memory_of(options.root, process);
  if (options.driver_locked) sample.memory.driver_locked = options.driver_locked();
}

void SystemSampler::Parts::add_allocator(SystemSample& sample) const {
  if (!options.allocator) return;
  try {
    sample.allocator = options.allocator();
  } catch (...) {
    sample.allocator.reset();
  }
}

SystemSample SystemSampler::sample() {
  Parts& parts = *parts_;
  SystemSample sample;
  const auto now = Clock::now();
  sample.at_s = seconds_between(parts.began, now);
  sample.unix_ms = unix_ms();
  sample.interval_s = std::max(1e-6, seconds_between(std::exchange(parts.last, now), now));
  sample.cores = parts.cores;
  sample.outside = std::max(static_cast<unsigned>(machine_cores()), parts.cores) - parts.cores;
  parts.add_machine(sample);
  if (parts.watches) parts.add_tree(sample);
  sample.gpus = parts.gpus.sample([&](int pid) { return parts.tree.contains(pid); });
  sample.no_gpu = parts.gpus.why_none();
  parts.add_allocator(sample);
  return sample;
}

void SystemSampler::add_busiest(SystemSample& sample) {
  Parts& parts = *parts_;
  const auto now = Clock::now();
  const ProcessTicks before =
      std::exchange(parts.last_ticks, read_process_ticks(parts.options.root));
  const double interval_s = seconds_between(std::exchange(parts.last_scan, now), now);
  if (before.empty()) return;
  sample.busiest = busiest_processes(before, parts.last_ticks, interval_s);
  for (ProcessUsage& process : sample.busiest)
    process.ours = parts.tree.contains(process.pid);
}

}  // namespace headrace::inline v1::monitor
