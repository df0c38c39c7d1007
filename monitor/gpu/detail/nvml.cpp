#include <headrace/monitor/gpu/detail/nvml.h>
#include <headrace/monitor/gpu/detail/nvml_abi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <dlfcn.h>

namespace headrace::inline v1::monitor::detail {
namespace {

std::string sentence(std::string_view library, std::string_view why) {
  return fmt::format("{}: {}", library, why);
}

std::string why_not_opened(const std::string& library) {
  const char* reason = ::dlerror();
  const std::string_view text = reason == nullptr ? "cannot be opened" : reason;
  if (text.find("No such file") != std::string_view::npos)
    return fmt::format("{} is not there: no NVIDIA driver", library);
  return sentence(library, text);
}

}  // namespace

Nvml::Nvml(const std::string& library)
    : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    why_none_ = why_not_opened(library);
    return;
  }
  const int started = call<>("nvmlInit_v2");
  started_ = started == nvml::success;
  if (!started_) {
    const auto words = reinterpret_cast<const char* (*)(int)>(::dlsym(library_, "nvmlErrorString"));
    const char* said = words == nullptr ? nullptr : words(started);
    why_none_ = sentence(library, said == nullptr ? fmt::format("error {}", started) : said);
    return;
  }
  open_devices();
  if (devices_.empty()) why_none_ = sentence(library, "the driver shows no GPU");
  start_activity();
}

Nvml::~Nvml() {
  for (const Counters& counters : counters_)
    for (void* sample : {counters.before, counters.after})
      if (sample != nullptr) call("nvmlGpmSampleFree", sample);
  if (started_) call<>("nvmlShutdown");
  if (library_ != nullptr) ::dlclose(library_);
}

template <class... Arguments>
int Nvml::call(const char* function, Arguments... arguments) const {
  void* found = library_ == nullptr ? nullptr : ::dlsym(library_, function);
  if (found == nullptr) return nvml::function_not_found;
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

void Nvml::open_devices() {
  unsigned count = 0;
  if (call("nvmlDeviceGetCount_v2", &count) != nvml::success) return;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    if (call("nvmlDeviceGetHandleByIndex_v2", index, &device) != nvml::success) device = nullptr;
    devices_.push_back(device);  // its place is its number, though it may not answer
  }
  if (std::ranges::all_of(devices_, [](Device device) { return device == nullptr; }))
    devices_.clear();
}

std::string Nvml::text(const char* function, Device device) const {
  std::array<char, 96> text{};
  const auto size = static_cast<unsigned>(text.size());
  if (call(function, device, text.data(), size) != nvml::success) return {};
  text.back() = '\0';
  return text.data();
}

std::string Nvml::name(Device device) const {
  return text("nvmlDeviceGetName", device);
}

std::string Nvml::uuid(Device device) const {
  return text("nvmlDeviceGetUUID", device);
}

std::optional<double> Nvml::figure(const char* function, Device device, double unit) const {
  unsigned value = 0;
  if (call(function, device, &value) != nvml::success) return std::nullopt;
  return value * unit;
}

std::optional<double> Nvml::busy_share(Device device) const {
  nvml::Utilisation use{};
  if (call("nvmlDeviceGetUtilizationRates", device, &use) != nvml::success || use.gpu > 100)
    return std::nullopt;
  return use.gpu / 100.0;
}

// The older function counts what the driver keeps for itself as used, which nvidia-smi does not.
std::optional<NvmlMemory> Nvml::memory(Device device) const {
  nvml::Memory2 memory{.version = nvml::versioned<nvml::Memory2>(2)};
  if (call("nvmlDeviceGetMemoryInfo_v2", device, &memory) == nvml::success)
    return NvmlMemory{.total = memory.total, .used = memory.used};
  nvml::Memory old{};
  if (call("nvmlDeviceGetMemoryInfo", device, &old) != nvml::success) return std::nullopt;
  return NvmlMemory{.total = old.total, .used = old.used};
}

std::optional<double> Nvml::temperature_c(Device device) const {
  unsigned value = 0;
  if (call("nvmlDeviceGetTemperature", device, nvml::temperature_of_gpu, &value) != nvml::success)
    return std::nullopt;
  return value;
}

std::optional<double> Nvml::power_w(Device device) const {
  return figure("nvmlDeviceGetPowerUsage", device, 1e-3);
}

std::optional<double> Nvml::power_limit_w(Device device) const {
  const auto limit = figure("nvmlDeviceGetEnforcedPowerLimit", device, 1e-3);
  return limit ? limit : figure("nvmlDeviceGetPowerManagementLimit", device, 1e-3);
}

std::optional<double> Nvml::clock_mhz(Device device, NvmlClock clock) const {
  unsigned value = 0;
  if (call("nvmlDeviceGetClockInfo", device, static_cast<unsigned>(clock), &value) != nvml::success)
    return std::nullopt;
  return value;
}

std::optional<double> Nvml::most_clock_mhz(Device device, NvmlClock clock) const {
  unsigned value = 0;
  if (call("nvmlDeviceGetMaxClockInfo", device, static_cast<unsigned>(clock), &value) !=
      nvml::success)
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> Nvml::clock_reasons(Device device) const {
  unsigned long long bits = 0;
  for (const char* function :
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"})
    if (call(function, device, &bits) == nvml::success) return bits;
  return std::nullopt;
}

std::optional<double> Nvml::pcie_received_per_s(Device device) const {
  unsigned kilobytes = 0;
  if (call("nvmlDeviceGetPcieThroughput", device, nvml::pcie_received, &kilobytes) != nvml::success)
    return std::nullopt;
  return kilobytes * 1e3;
}

std::optional<double> Nvml::pcie_sent_per_s(Device device) const {
  unsigned kilobytes = 0;
  if (call("nvmlDeviceGetPcieThroughput", device, nvml::pcie_sent, &kilobytes) != nvml::success)
    return std::nullopt;
  return kilobytes * 1e3;
}

// False where the function is not there; it may list more a moment later than it said.
template <class Info>
bool Nvml::add_processes(const char* function, Device device,
                         std::vector<NvmlProcess>& list) const {
  unsigned count = 64;
  std::vector<Info> infos(count);
  int result = call(function, device, &count, infos.data());
  if (result == nvml::insufficient_size) {
    count += 64;
    infos.resize(count);
    result = call(function, device, &count, infos.data());
  }
  if (result == nvml::function_not_found || result == nvml::not_supported) return false;
  if (result != nvml::success) return true;
  infos.resize(std::min<std::size_t>(count, infos.size()));
  for (const Info& info : infos) {
    NvmlProcess process{.pid = info.pid};
    if (info.memory != nvml::not_available) process.memory = info.memory;
    const auto same = [&](const NvmlProcess& other) { return other.pid == process.pid; };
    if (std::ranges::none_of(list, same)) list.push_back(process);
  }
  return true;
}

void Nvml::add_processes_of(const char* kind, Device device, std::vector<NvmlProcess>& list) const {
  const std::string function = fmt::format("nvmlDeviceGet{}RunningProcesses", kind);
  for (const char* version : {"_v3", "_v2"})
    if (add_processes<nvml::ProcessInfo2>((function + version).c_str(), device, list)) return;
  add_processes<nvml::ProcessInfo>(function.c_str(), device, list);
}

std::vector<NvmlProcess> Nvml::processes(Device device) const {
  std::vector<NvmlProcess> list;
  add_processes_of("Compute", device, list);
  add_processes_of("Graphics", device, list);
  return list;
}

void Nvml::start_activity() {
  counters_.resize(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    nvml::GpmSupport support{.version = nvml::gpm_version};
    if (devices_[i] == nullptr ||
        call("nvmlGpmQueryDeviceSupport", devices_[i], &support) != nvml::success ||
        support.is_supported == 0)
      continue;
    Counters& counters = counters_[i];
    if (call("nvmlGpmSampleAlloc", &counters.before) != nvml::success) counters.before = nullptr;
    if (call("nvmlGpmSampleAlloc", &counters.after) != nvml::success) counters.after = nullptr;
  }
}

NvmlActivity Nvml::activity(std::size_t index) {
  Counters& counters = counters_[index];
  if (counters.before == nullptr || counters.after == nullptr) return {};
  if (call("nvmlGpmSampleGet", devices_[index], counters.after) != nvml::success) return {};
  const bool first = !std::exchange(counters.began, true);
  NvmlActivity activity;
  if (!first) activity = activity_between(counters.before, counters.after);
  std::swap(counters.before, counters.after);
  return activity;
}

NvmlActivity Nvml::activity_between(void* before, void* after) const {
  nvml::GpmMetrics metrics{
      .version = nvml::gpm_version, .count = 3, .before = before, .after = after, .metrics = {}};
  metrics.metrics[0].id = nvml::gpm_sm_active_percent;
  metrics.metrics[1].id = nvml::gpm_pcie_received_mib_per_s;
  metrics.metrics[2].id = nvml::gpm_pcie_sent_mib_per_s;
  if (call("nvmlGpmMetricsGet", &metrics) != nvml::success) return {};
  const auto value = [&](std::size_t place, double unit) -> std::optional<double> {
    const nvml::GpmMetric& metric = metrics.metrics[place];
    const bool is_figure = std::isfinite(metric.value) && metric.value >= 0.0;
    if (metric.result != nvml::success || !is_figure) return std::nullopt;
    return metric.value * unit;
  };
  constexpr double mib = 1024.0 * 1024.0;
  return {.sm_active_share = value(0, 0.01),
          .pcie_received_per_s = value(1, mib),
          .pcie_sent_per_s = value(2, mib)};
}

}  // namespace headrace::inline v1::monitor::detail
