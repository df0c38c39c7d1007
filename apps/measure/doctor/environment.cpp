#include <headrace/apps/config/units.h>
#include <headrace/apps/measure/doctor/checks/checks.h>
#include <headrace/apps/measure/doctor/environment.h>
#include <headrace/apps/measure/doctor/mounts.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/apps/view/setting_facts.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/device/device_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <dlfcn.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Stays open: what NVML leaves behind is not made to be unloaded.
std::string driver_by_nvml() {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  using Plain = int (*)();
  using Version = int (*)(char*, unsigned);
  const auto begin = reinterpret_cast<Plain>(::dlsym(library, "nvmlInit_v2"));
  const auto end = reinterpret_cast<Plain>(::dlsym(library, "nvmlShutdown"));
  const auto version = reinterpret_cast<Version>(::dlsym(library, "nvmlSystemGetDriverVersion"));
  if (begin == nullptr || end == nullptr || version == nullptr || begin() != 0) return {};
  std::array<char, 96> text{};
  const bool told = version(text.data(), static_cast<unsigned>(text.size() - 1)) == 0;
  end();
  return told ? std::string(text.data()) : std::string{};
}

std::vector<unsigned> own_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

std::optional<FolderSpace> space_of(const fs::path& path) {
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) != 0) return std::nullopt;
  return FolderSpace{.total = std::uint64_t{space.f_blocks} * space.f_frsize,
                     .free = std::uint64_t{space.f_bavail} * space.f_frsize};
}

OtherLoad look_at_others() {
  const auto before = monitor::read_process_ticks();
  monitor::CpuSampler sampler;
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const monitor::CpuUsage usage = sampler.sample();
  OtherLoad others{.steal_share = usage.steal_share};
  for (const auto& process :
       monitor::busiest_processes(before, monitor::read_process_ticks(), usage.interval_s))
    if (!process.ours) others.busiest.push_back(process);
  others.machine_cores = static_cast<unsigned>(std::max<long>(1, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const double stolen = usage.steal_share;  // nobody of this machine has it
  others.cores =
      std::max(0.0, (usage.machine_share - stolen) * others.machine_cores - usage.process_cores);
  return others;
}

}  // namespace

EnvironmentFacts read_environment_facts(const fs::path& data, const fs::path& runs) {
  EnvironmentFacts facts{.driver = driver_by_nvml(), .affinity = own_affinity()};
  try {
    facts.device_runtime = device_runtime();
  } catch (const Error& error) {
    facts.no_device = error.what();
  }
  facts.others = look_at_others();  // before this process does anything itself
  facts.shared_memory = space_of("/dev/shm");
  if (!data.empty()) {
    facts.data_space = space_of(data);
    facts.read_speed = measure_read_speed(data);
  }
  if (!runs.empty()) {
    const fs::path present = nearest_present(runs);
    facts.run_space = space_of(present);
    facts.fsync_s = measure_fsync(present);
  }
  return facts;
}

EnvironmentNeeds configured_needs(const WholeConfiguration& configuration) {
  const monitor::SettingFacts settings = setting_facts(configuration.full);
  EnvironmentNeeds needs{
      .gpu = configuration.value("device") == "cuda",
      .cpu = configuration.value("device") == "cpu",
      .loader_threads = configuration.number("threads.loader").value_or(0),
      .torch_threads = configuration.number("threads.torch").value_or(0),
      .memory_key = configuration.trains ? "memory.limit" : "memory",
      .can_stage = configuration.value("data.stage") == "",
      .can_cache = settings.can_cache && settings.may_cache(),
  };
  if (const auto bytes = parse_bytes(configuration.value(needs.memory_key).value_or("")))
    needs.memory_limit = bytes->value;
  return needs;
}

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
