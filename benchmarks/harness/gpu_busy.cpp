#include <headrace/benchmarks/harness/gpu_busy.h>

#include <chrono>

#include <dlfcn.h>

namespace headrace::inline v1::bench {

namespace {

// What is needed of NVML and of the CUDA runtime; 0 means success in both.
struct Utilisation {
  unsigned int gpu;
  unsigned int memory;
};
using Init = int (*)();
using DeviceByBusId = int (*)(const char*, void**);
using GetUtilisation = int (*)(void*, Utilisation*);
using DeviceByNumber = int (*)(unsigned int, void**);
using Count = int (*)(unsigned int*);
using BusId = int (*)(char*, int, int);

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

}  // namespace

/// The NVML handle of a CUDA device, null where there is none: CUDA_VISIBLE_DEVICES renumbers, the
/// bus does not. Where the process shows no CUDA runtime, the only device there is.
void* GpuBusy::open(int cuda_index) {
  library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    why_ = "no libnvidia-ml.so.1";
    return nullptr;
  }
  const auto init = find<Init>(library_, "nvmlInit_v2");
  const auto by_bus = find<DeviceByBusId>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto by_number = find<DeviceByNumber>(library_, "nvmlDeviceGetHandleByIndex_v2");
  const auto count = find<Count>(library_, "nvmlDeviceGetCount_v2");
  const auto bus_id = find<BusId>(RTLD_DEFAULT, "cudaDeviceGetPCIBusId");
  char bus[32] = {};
  unsigned int devices = 0;
  void* device = nullptr;
  const bool ready = init != nullptr && init() == 0;
  if (ready && by_bus != nullptr && bus_id != nullptr && bus_id(bus, sizeof bus, cuda_index) == 0 &&
      by_bus(bus, &device) == 0)
    return device;
  if (ready && by_number != nullptr && count != nullptr && count(&devices) == 0 && devices == 1 &&
      by_number(0, &device) == 0)
    return device;
  why_ = "NVML does not know the device";
  return nullptr;
}

GpuBusy::GpuBusy(int cuda_index) {
  void* device = open(cuda_index);
  if (device != nullptr) thread_ = std::thread([this, device] { sample(device); });
}

GpuBusy::~GpuBusy() {
  stop();
  if (library_ == nullptr) return;
  if (const auto shutdown = find<Init>(library_, "nvmlShutdown")) shutdown();
  ::dlclose(library_);
}

void GpuBusy::sample(void* device) {
  const auto ask = find<GetUtilisation>(library_, "nvmlDeviceGetUtilizationRates");
  while (ask != nullptr && !stopping_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Utilisation now{};
    if (ask(device, &now) != 0) continue;
    sum_ += now.gpu / 100.0;
    ++samples_;
  }
}

std::optional<double> GpuBusy::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
  if (samples_ > 0) return sum_ / samples_;
  if (why_.empty()) why_ = "NVML gave no sample";
  return std::nullopt;
}

std::string gpu_name() {
  using GetName = int (*)(void*, char*, unsigned int);
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "";
  const auto init = find<Init>(library, "nvmlInit_v2");
  const auto by_number = find<DeviceByNumber>(library, "nvmlDeviceGetHandleByIndex_v2");
  const auto get_name = find<GetName>(library, "nvmlDeviceGetName");
  void* device = nullptr;
  char name[96] = {};
  if (init != nullptr && by_number != nullptr && get_name != nullptr && init() == 0) {
    if (by_number(0, &device) != 0 || get_name(device, name, sizeof name) != 0) name[0] = '\0';
    if (const auto shutdown = find<Init>(library, "nvmlShutdown")) shutdown();
  }
  ::dlclose(library);
  return name;
}

}  // namespace headrace::inline v1::bench
