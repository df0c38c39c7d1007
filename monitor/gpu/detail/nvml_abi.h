#pragma once

#include <array>
#include <cstdint>

/// What we need of NVML's binary interface, as NVIDIA documents it: numbers and layouts.
namespace headrace::inline v1::monitor::detail::nvml {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int insufficient_size = 7;
constexpr int function_not_found = 13;

constexpr unsigned temperature_of_gpu = 0;
constexpr unsigned pcie_sent = 0;
constexpr unsigned pcie_received = 1;
/// Memory of a process that the driver does not know.
constexpr unsigned long long not_available = ~0ULL;

/// Per cent of the time.
struct Utilisation {
  unsigned gpu;
  unsigned memory;
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Memory2 {
  unsigned version = 0;
  unsigned long long total = 0;
  unsigned long long reserved = 0;  ///< by the driver
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// The number that a structure of a version begins with.
template <class Struct>
constexpr unsigned versioned(unsigned version) {
  return static_cast<unsigned>(sizeof(Struct)) | (version << 24U);
}
static_assert(versioned<Memory2>(2) == 0x2000028);

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
};

/// Of the functions _v2 and _v3.
struct ProcessInfo2 {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 16 && sizeof(ProcessInfo2) == 24);

/// Reasons for lower clocks, bits; idleness and settings are none that slow anything down.
constexpr std::uint64_t power_cap = 0x4;
constexpr std::uint64_t hardware_slowdown = 0x8;
constexpr std::uint64_t thermal_slowdown = 0x20;
constexpr std::uint64_t hardware_thermal_slowdown = 0x40;
constexpr std::uint64_t power_brake = 0x80;

constexpr unsigned gpm_version = 1;
constexpr unsigned gpm_sm_active_percent = 2;
constexpr unsigned gpm_pcie_sent_mib_per_s = 20;
constexpr unsigned gpm_pcie_received_mib_per_s = 21;

struct GpmSupport {
  unsigned version = 0;
  unsigned is_supported = 0;
};

struct GpmMetric {
  unsigned id = 0;
  int result = 0;
  double value = 0.0;
  const char* short_name = nullptr;
  const char* long_name = nullptr;
  const char* unit = nullptr;
};
static_assert(sizeof(GpmMetric) == 40);

/// The driver reads and writes `count` metrics; its own array is longer from version to version.
struct GpmMetrics {
  unsigned version = 0;
  unsigned count = 0;
  void* before = nullptr;
  void* after = nullptr;
  std::array<GpmMetric, 512> metrics{};
};

}  // namespace headrace::inline v1::monitor::detail::nvml
