// The CUDA runtime is the one that the engine has opened; no header of CUDA's is needed, and none
// of its libraries is linked.
#include <headrace/benchmarks/device/side.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/device/device_runtime.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <dlfcn.h>

namespace headrace::inline v1::bench {

namespace {

using MemcpyAsync = int (*)(void*, const void*, std::size_t, int, void*);
using LoadModule = int (*)(void**, const void*);
using GetFunction = int (*)(void**, void*, const char*);
using LaunchKernel = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, void*, void**, void**);

/// One thread that looks at the device's clock until so many nanoseconds have passed. As text,
/// since the driver compiles it for whatever GPU there is.
constexpr const char* delay_code = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry delay(.param .u64 nanoseconds)
{
  .reg .pred %early;
  .reg .u64 %wanted, %start, %now;
  ld.param.u64 %wanted, [nanoseconds];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %early, %now, %wanted;
  @%early bra again;
  ret;
}
)";

void require(bool good, const std::string& what) {
  if (!good) throw DeviceError("[device_benchmark] " + what);
}

void require_done(int status, const char* call) {
  require(status == 0, std::string(call) + " failed with status " + std::to_string(status));
}

template <class Function>
Function find(void* library, const char* name) {
  void* found = ::dlsym(library, name);
  require(found != nullptr, std::string("there is no ") + name);
  return reinterpret_cast<Function>(found);
}

/// The library behind device_runtime()'s "FILE (who chose it)".
void* runtime_library() {
  const std::string named = device_runtime();
  const std::string file = named.substr(0, named.rfind(" ("));
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, "cannot open " + file);
  return library;
}

/// The delay kernel of one context.
struct Delay {
  void* function = nullptr;
  LaunchKernel launch = nullptr;
};

Delay load_delay() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  require(driver != nullptr, "there is no libcuda.so.1");
  Delay delay{.launch = find<LaunchKernel>(driver, "cuLaunchKernel")};
  void* module = nullptr;
  require_done(find<LoadModule>(driver, "cuModuleLoadData")(&module, delay_code),
               "cuModuleLoadData");
  require_done(find<GetFunction>(driver, "cuModuleGetFunction")(&delay.function, module, "delay"),
               "cuModuleGetFunction");
  return delay;
}

}  // namespace

BareCalls cuda_calls(Device device) {
  const detail::DeviceScope scope(device);
  const auto copy = find<MemcpyAsync>(runtime_library(), "cudaMemcpyAsync");
  const auto loaded = std::make_shared<std::optional<Delay>>();  // at its first use
  return {.copy =
              [=](void* to, const void* from, std::size_t bytes, Way way, Stream on) {
                const detail::DeviceScope current(device);
                require_done(copy(to, from, bytes, static_cast<int>(way), on.handle),
                             "cudaMemcpyAsync");
              },
          .delay =
              [=](double seconds, Stream on) {
                const detail::DeviceScope current(device);
                if (!*loaded) *loaded = load_delay();
                const Delay& delay = **loaded;
                auto nanoseconds = static_cast<std::uint64_t>(seconds * 1e9);
                void* arguments[] = {&nanoseconds};
                require_done(delay.launch(delay.function, 1, 1, 1, 1, 1, 1, 0, on.handle, arguments,
                                          nullptr),
                             "cuLaunchKernel");
              }};
}

}  // namespace headrace::inline v1::bench
