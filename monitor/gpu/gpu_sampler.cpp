#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/engine/base/printable.h>
#include <headrace/monitor/gpu/detail/nvml.h>
#include <headrace/monitor/gpu/detail/nvml_abi.h>
#include <headrace/monitor/gpu/gpu_sampler.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::inline v1::monitor::detail {
namespace {

std::optional<std::size_t> gpu_called(std::string_view word,
                                      const std::vector<std::string>& uuids) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc{} && end == word.data() + word.size())
    return number < uuids.size() ? std::optional(number) : std::nullopt;
  if (!word.starts_with("GPU-")) return std::nullopt;
  const auto found =
      std::ranges::find_if(uuids, [&](const std::string& uuid) { return uuid.starts_with(word); });
  if (found == uuids.end()) return std::nullopt;
  return static_cast<std::size_t>(found - uuids.begin());
}

/// CUDA_VISIBLE_DEVICES as a process was started with it; nothing where it was not set or may not
/// be read.
std::optional<std::string> cuda_visible_devices(const std::filesystem::path& root, int pid) {
  if (pid <= 0) return std::nullopt;
  const auto text =
      headrace::detail::read_small_file(root / "proc" / std::to_string(pid) / "environ");
  if (!text) return std::nullopt;
  constexpr std::string_view name = "CUDA_VISIBLE_DEVICES=";
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    if (variable.starts_with(name)) return std::string(variable.substr(name.size()));
    rest.remove_prefix(std::min(rest.size(), variable.size() + 1));
  }
  return std::nullopt;
}

/// Which of the GPUs, known by their UUIDs, such a value shows: numbers, or UUIDs or their
/// beginnings, up to the first that is none of them, as CUDA reads it. All where it is not set and
/// where it names parts of GPUs (MIG).
std::vector<std::size_t> visible_gpus(const std::optional<std::string>& value,
                                      const std::vector<std::string>& uuids) {
  std::vector<std::size_t> all(uuids.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!value || value->find("MIG-") != std::string::npos) return all;
  std::vector<std::size_t> shown;
  std::string_view rest = *value;
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    word.remove_prefix(std::min(word.size(), word.find_first_not_of(' ')));
    word = word.substr(0, word.find(' '));
    const auto gpu = gpu_called(word, uuids);
    if (!gpu) break;
    if (std::ranges::find(shown, *gpu) == shown.end()) shown.push_back(*gpu);
  }
  std::ranges::sort(shown);
  return shown;
}

}  // namespace
}  // namespace headrace::inline v1::monitor::detail

namespace headrace::inline v1::monitor {
namespace {

namespace nvml = detail::nvml;

std::vector<std::string> throttle_reasons(std::uint64_t bits) {
  struct Reason {
    std::uint64_t bit;
    std::string_view words;
  };
  constexpr std::array<Reason, 5> reasons{{
      {nvml::power_cap, "power limit"},
      {nvml::hardware_slowdown, "hardware slowdown"},
      {nvml::thermal_slowdown, "temperature"},
      {nvml::hardware_thermal_slowdown, "temperature (hardware)"},
      {nvml::power_brake, "power brake"},
  }};
  std::vector<std::string> words;
  for (const Reason& reason : reasons)
    if ((bits & reason.bit) != 0) words.emplace_back(reason.words);
  return words;
}

std::string process_name(const std::filesystem::path& root, unsigned pid) {
  std::string name =
      headrace::detail::read_small_file(root / "proc" / std::to_string(pid) / "comm").value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return printable(name);
}

}  // namespace

struct GpuSampler::Driver {
  struct Gpu {
    std::size_t index = 0;
    std::string name{};
  };

  explicit Driver(const std::string& library) : nvml(library) {}

  GpuSample figures(const Gpu& gpu);

  detail::Nvml nvml;
  std::vector<Gpu> gpus{};  // that are looked at
  int samples = 0;
};

GpuSampler::GpuSampler(GpuSamplerOptions options) : options_(std::move(options)) {}

GpuSampler::~GpuSampler() = default;

void GpuSampler::open() {
  opened_ = true;
  if (options_.library.empty()) {
    why_none_ = "GPUs are not looked at";
    return;
  }
  auto driver = std::make_unique<Driver>(options_.library);
  const detail::Nvml& nvml = driver->nvml;
  why_none_ = nvml.why_none();
  if (!why_none_.empty()) return;
  std::vector<std::string> uuids;
  for (const detail::Nvml::Device device : nvml.devices())
    uuids.push_back(device == nullptr ? std::string() : nvml.uuid(device));
  for (const std::size_t index :
       detail::visible_gpus(detail::cuda_visible_devices(options_.root, options_.pid), uuids))
    if (nvml.devices()[index] != nullptr)
      driver->gpus.push_back({.index = index, .name = nvml.name(nvml.devices()[index])});
  if (driver->gpus.empty()) {
    why_none_ = "CUDA_VISIBLE_DEVICES hides all GPUs from the process";
    return;
  }
  driver_ = std::move(driver);
}

GpuSample GpuSampler::Driver::figures(const Gpu& gpu) {
  detail::Nvml::Device device = nvml.devices()[gpu.index];
  GpuSample sample{.index = static_cast<unsigned>(gpu.index), .name = gpu.name};
  sample.busy_share = nvml.busy_share(device);
  if (const auto memory = nvml.memory(device)) {
    sample.memory_used = memory->used;
    sample.memory_total = memory->total;
  }
  sample.temperature_c = nvml.temperature_c(device);
  sample.power_w = nvml.power_w(device);
  sample.power_limit_w = nvml.power_limit_w(device);
  sample.sm_clock_mhz = nvml.clock_mhz(device, detail::NvmlClock::sm);
  sample.most_sm_clock_mhz = nvml.most_clock_mhz(device, detail::NvmlClock::sm);
  sample.memory_clock_mhz = nvml.clock_mhz(device, detail::NvmlClock::memory);
  sample.throttled = throttle_reasons(nvml.clock_reasons(device).value_or(0));
  const detail::NvmlActivity activity = nvml.activity(gpu.index);
  sample.sm_active_share = activity.sm_active_share;
  sample.pcie_received_per_s = activity.pcie_received_per_s;
  sample.pcie_sent_per_s = activity.pcie_sent_per_s;
  return sample;
}

std::vector<GpuSample> GpuSampler::sample(const std::function<bool(int)>& ours) {
  if (!opened_) open();
  std::vector<GpuSample> samples;
  if (!driver_) return samples;
  const detail::Nvml& nvml = driver_->nvml;
  const bool asks_pcie = options_.pcie_every > 0 && driver_->samples++ % options_.pcie_every == 0;
  for (const Driver::Gpu& gpu : driver_->gpus) {
    detail::Nvml::Device device = nvml.devices()[gpu.index];
    GpuSample sample = driver_->figures(gpu);
    if (asks_pcie && !nvml.counts_activity(gpu.index)) {
      sample.pcie_received_per_s = nvml.pcie_received_per_s(device);
      sample.pcie_sent_per_s = nvml.pcie_sent_per_s(device);
    }
    for (const detail::NvmlProcess& process : nvml.processes(device))
      sample.processes.push_back({.pid = static_cast<int>(process.pid),
                                  .name = process_name(options_.root, process.pid),
                                  .memory = process.memory.value_or(0),
                                  .ours = ours && ours(static_cast<int>(process.pid))});
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace headrace::inline v1::monitor
