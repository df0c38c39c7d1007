#include <headrace/apps/measure/doctor/checks/checks.h>
#include <headrace/engine/base/internal/proc_files.h>

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using headrace::detail::read_small_file;
using headrace::detail::split_words;
using monitor::Severity;

using Version = std::array<int, 3>;

// "550.54.14", "13.0"; nothing for text that is no version.
std::optional<Version> version_of(std::string_view text) {
  Version version{};
  std::size_t parts = 0;
  while (parts < version.size()) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), version[parts]);
    if (error != std::errc{}) break;
    ++parts;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return parts >= 2 && text.empty() ? std::optional(version) : std::nullopt;
}

// NVIDIA's least driver for all CUDA of a major version (Linux, minor version compatibility).
std::string_view least_driver(int cuda_major) {
  switch (cuda_major) {
    case 11:
      return "450.80.02";
    case 12:
      return "525.60.13";
    case 13:
      return "580.65.06";
    default:
      return {};
  }
}

struct Driver {
  std::string version{};
  bool unreadable = false;  // it is there, but of what version
};

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb ..."
Driver read_driver(const EnvironmentOptions& options, const EnvironmentFacts& facts) {
  const auto text = read_small_file(options.root / "proc/driver/nvidia/version");
  if (!text) return {.version = facts.driver};
  for (const std::string_view word : split_words(*text))
    if (version_of(word)) return {.version = std::string(word)};
  return {.version = facts.driver, .unreadable = facts.driver.empty()};
}

Finding driver_finding(const Driver& driver, bool gpu) {
  constexpr const char* what = "NVIDIA driver";
  if (driver.unreadable) return unknown(what, "proc/driver/nvidia/version is not understood");
  if (!driver.version.empty()) return {.what = what, .found = driver.version};
  if (!gpu) return {.what = what, .found = "none", .wanted = "only for a GPU"};
  return {.severity = Severity::error,
          .what = what,
          .found = "none",
          .wanted = "one, since device is cuda",
          .way_out =
              "install NVIDIA's driver and see that nvidia-smi lists the GPU (in a "
              "container: start it with --gpus all), or set device: cpu"};
}

Finding torch_finding(const EnvironmentOptions& options, bool has_driver) {
  constexpr const char* what = "LibTorch";
  if (options.torch_version.empty())
    return unknown(what, "this program has none; headrace-train has");
  if (!options.torch_cuda.empty())
    return {.what = what,
            .found = fmt::format("{} for CUDA {}", options.torch_version, options.torch_cuda)};
  Finding finding{.what = what, .found = options.torch_version + " for the CPU alone"};
  if (!has_driver && !options.needs.gpu) return finding;
  finding.severity = options.needs.gpu ? Severity::error : Severity::warning;
  finding.wanted = "one built for CUDA";
  finding.way_out = "build against a LibTorch for CUDA (docs/dependencies.md), or set device: cpu";
  return finding;
}

Finding fit_finding(const EnvironmentOptions& options, const std::string& driver) {
  constexpr const char* what = "driver for CUDA";
  const auto cuda = version_of(options.torch_cuda);
  const auto have = version_of(driver);
  const std::string_view least = cuda ? least_driver((*cuda)[0]) : std::string_view{};
  if (!have || least.empty())
    return unknown(what, fmt::format("no least driver is known for CUDA {} with driver {}",
                                     options.torch_cuda, driver));
  Finding finding{.what = what,
                  .found = fmt::format("{} for CUDA {}", driver, options.torch_cuda),
                  .wanted = fmt::format("at least {}", least)};
  if (*have >= *version_of(least)) return finding;
  finding.severity = Severity::error;
  finding.way_out = fmt::format(
      "update NVIDIA's driver to {} or later, or take a LibTorch for an older CUDA", least);
  return finding;
}

Finding module_finding(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                       bool has_driver) {
  constexpr const char* what = "device module";
  if (!facts.device_runtime.empty())
    return {.what = what, .found = "opens " + facts.device_runtime};
  if (facts.no_device.empty()) return unknown(what, "nobody tried to open it");
  Finding finding{.what = what, .found = "does not open", .wanted = "only for a GPU"};
  if (!has_driver && !options.needs.gpu) return finding;
  finding.severity = options.needs.gpu ? Severity::error : Severity::warning;
  finding.wanted = "opens, for a GPU";
  finding.way_out = facts.no_device;
  return finding;
}

}  // namespace

void check_gpu(const EnvironmentOptions& options, const EnvironmentFacts& facts,
               Findings& findings) {
  const Driver driver = read_driver(options, facts);
  const bool has_driver = !options.needs.cpu && (driver.unreadable || !driver.version.empty());
  findings.push_back(driver_finding(driver, options.needs.gpu));
  findings.push_back(torch_finding(options, has_driver));
  if (has_driver && !driver.version.empty() && !options.torch_cuda.empty())
    findings.push_back(fit_finding(options, driver.version));
  findings.push_back(module_finding(options, facts, has_driver));
}

}  // namespace headrace::inline v1::app
