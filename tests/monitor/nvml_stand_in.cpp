// Plays NVML to the tests: two GPUs, of which the second tells less. HEADRACE_NVML_PLAYS says which
// library it is: 2, one of today; 1, an old driver's, without counters of multiprocessors and newer
// functions; 0, one whose driver does not run. The variable HEADRACE_STAND_IN_BUSY says how many
// percent the first GPU is busy; unset, it is 85.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int insufficient_size = 7;
constexpr int driver_not_loaded = 9;
constexpr unsigned long long gib = 1ULL << 30;

int started = 0;
int counter_samples = 0;  // that were not freed
int throughput_calls = 0;
int nonsense = 0;  // it tells figures that cannot be

bool is_first(const void* device) {
  return device == reinterpret_cast<const void*>(1);
}

struct Process1 {
  unsigned pid;
  unsigned long long memory;
};

struct Process2 {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

// The first GPU has this process and one whose memory is not told, the second a hundred others.
template <class Process>
int list_processes(const void* device, unsigned* count, Process* list) {
  const unsigned wanted = is_first(device) ? 2 : 100;
  const unsigned room = *count;
  *count = wanted;
  if (room < wanted) return insufficient_size;
  for (unsigned i = 0; i < wanted; ++i) {
    list[i].pid = is_first(device) ? (i == 0 ? static_cast<unsigned>(getpid()) : 4242) : 5000 + i;
    list[i].memory = is_first(device) && i == 1 ? ~0ULL : (i + 1) * gib;
  }
  return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (HEADRACE_NVML_PLAYS == 0) return driver_not_loaded;
  ++started;
  return success;
}

int nvmlShutdown() {
  --started;
  return success;
}

const char* nvmlErrorString(int error) {
  return error == driver_not_loaded ? "Driver Not Loaded" : "Unknown Error";
}

// What the test asks the stand-in itself.
int stand_in_started() {
  return started;
}
int stand_in_counter_samples() {
  return counter_samples;
}
int stand_in_throughput_calls() {
  return throughput_calls;
}
int stand_in_turns_to_nonsense() {
  return nonsense = 1 - nonsense;
}

#if HEADRACE_NVML_PLAYS > 0
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return success;
}

int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  std::snprintf(name, size, "%s", is_first(device) ? "Stand-in A" : "Stand-in B");
  return success;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  std::snprintf(uuid, size, "%s", is_first(device) ? "GPU-aaaa-1111" : "GPU-bbbb-2222");
  return success;
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_and_memory) {
  if (!is_first(device)) return not_supported;
  const char* busy = std::getenv("HEADRACE_STAND_IN_BUSY");
  const unsigned told = busy != nullptr ? static_cast<unsigned>(std::atoi(busy)) : 85;
  gpu_and_memory[0] = nonsense != 0 ? ~0U : told;
  gpu_and_memory[1] = 40;
  return success;
}

struct Memory {
  unsigned long long total, free, used;
};
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {24 * gib, 11 * gib, 13 * gib};
  return success;
}

int nvmlDeviceGetTemperature(void*, unsigned sensor, unsigned* celsius) {
  *celsius = 61;
  return sensor == 0 ? success : not_supported;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 250'500;
  return is_first(device) ? success : not_supported;
}

int nvmlDeviceGetPowerManagementLimit(void*, unsigned* milliwatts) {
  *milliwatts = 350'000;
  return success;
}

int nvmlDeviceGetClockInfo(void*, unsigned clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1410 : 5001;
  return success;
}

int nvmlDeviceGetMaxClockInfo(void*, unsigned clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : 5001;
  return success;
}

int nvmlDeviceGetPcieThroughput(void*, unsigned counter, unsigned* kilobytes) {
  ++throughput_calls;
  *kilobytes = counter == 1 ? 1000 : 2000;
  return success;
}
#endif

#if HEADRACE_NVML_PLAYS == 1
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x8 | 0x2;
  return success;
}

int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, Process1* list) {
  return list_processes(device, count, list);
}
#endif

#if HEADRACE_NVML_PLAYS == 2
struct Memory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
int nvmlDeviceGetMemoryInfo_v2(void*, Memory2* memory) {
  if (memory->version != (sizeof(Memory2) | (2U << 24U))) return 25;
  *memory = {memory->version, 24 * gib, gib, 11 * gib, 12 * gib};
  return success;
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 300'000;
  return success;
}

int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons = is_first(device) ? 0x1 | 0x4 | 0x20 : 0x1;
  return success;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process2* list) {
  return list_processes(device, count, list);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void* device, unsigned* count, Process2* list) {
  if (is_first(device)) return list_processes(device, count, list);
  *count = 0;
  return success;
}

struct Support {
  unsigned version, is_supported;
};
int nvmlGpmQueryDeviceSupport(void* device, Support* support) {
  if (support->version != 1) return 25;
  support->is_supported = is_first(device) ? 1 : 0;
  return success;
}

int nvmlGpmSampleAlloc(void** sample) {
  *sample = std::calloc(1, sizeof(int));
  ++counter_samples;
  return success;
}

int nvmlGpmSampleFree(void* sample) {
  std::free(sample);
  --counter_samples;
  return success;
}

// A sample knows which it is: the one before must be the older.
int nvmlGpmSampleGet(void*, void* sample) {
  static int number = 0;
  *static_cast<int*>(sample) = ++number;
  return success;
}

struct Metric {
  unsigned id;
  int result;
  double value;
  const char *short_name, *long_name, *unit;
};
struct Metrics {
  unsigned version, count;
  int *before, *after;
  Metric metrics[1];
};
int nvmlGpmMetricsGet(Metrics* metrics) {
  if (metrics->version != 1 || *metrics->before + 1 != *metrics->after) return 2;
  for (unsigned i = 0; i < metrics->count; ++i) {
    Metric& metric = metrics->metrics[i];
    metric.result = success;
    if (metric.id == 2) metric.value = nonsense != 0 ? std::nan("") : 42.0;
    if (metric.id == 20) metric.value = nonsense != 0 ? HUGE_VAL : 5.0;
    if (metric.id == 21) metric.value = nonsense != 0 ? -1.0 : 10.0;
  }
  return success;
}
#endif

}  // extern "C"
