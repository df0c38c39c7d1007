#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/open_module.h>
#include <headrace/engine/device/detail/device_module.h>
#include <headrace/engine/device/device_runtime.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace headrace::inline v1::detail {

namespace {

namespace fs = std::filesystem;

constexpr const char* module_file = "headrace_cuda.so";

#ifdef HEADRACE_CUDA_RUNTIME
constexpr std::string_view runtime_name = HEADRACE_CUDA_RUNTIME;  ///< "libcudart.so.13"
#else
constexpr std::string_view runtime_name;
#endif

struct DeviceModule {
  void* handle = nullptr;
  DeviceFunction (*stand_in)(const char*) = nullptr;
  std::string runtime{};
  std::string reason{};

  bool usable() const noexcept { return handle != nullptr || stand_in != nullptr; }
};

std::mutex mutex;  // of the module

/// Never destroyed: threads of a process that ends may still ask.
DeviceModule& module() {
  static auto* one = new DeviceModule();
  return *one;
}

int note_runtime(dl_phdr_info* info, std::size_t, void* out) {
  const std::string_view file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (!file.substr(file.rfind('/') + 1).starts_with(runtime_name)) return 0;
  *static_cast<std::string*>(out) = file;
  return 1;
}

/// The file of the runtime that the process has loaded, empty where there is none.
std::string loaded_runtime() {
  std::string file;
  dl_iterate_phdr(note_runtime, &file);
  return file;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The folder above the bin/ of the python3 that a shell would start.
std::string python_prefix() {
  std::string path = variable("PATH") + ":";
  for (std::size_t end = 0; (end = path.find(':')) != std::string::npos; path.erase(0, end + 1)) {
    const fs::path folder = path.substr(0, end);
    std::error_code absent;
    const fs::path python = folder / "python3";
    if (folder.is_absolute() && fs::exists(python, absent))
      return python.parent_path().parent_path().string();
  }
  return {};
}

/// What PyPI's packages of CUDA put into a Python installation.
void add_python_places(const fs::path& prefix, std::vector<fs::path>& places) {
  const std::string major(runtime_name.substr(runtime_name.rfind('.') + 1));
  std::error_code absent;
  for (const auto& python : fs::directory_iterator(prefix / "lib", absent)) {
    if (!python.path().filename().string().starts_with("python3")) continue;
    for (const char* site : {"site-packages", "dist-packages"}) {
      const fs::path nvidia = python.path() / site / "nvidia";
      places.push_back(nvidia / ("cu" + major) / "lib");
      places.push_back(nvidia / "cuda_runtime" / "lib");
    }
  }
  places.push_back(prefix / "lib");  // conda's
}

struct Place {
  fs::path folder;
  const char* owner;
};

/// Folders that the loader of programs does not look into by itself.
std::vector<Place> further_places() {
  std::vector<Place> places;
  for (const std::string& root :
       {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (root.empty()) continue;
    for (const char* folder : {"lib64", "lib"})
      places.push_back({fs::path(root) / folder, "the system's"});
  }
  const std::string home = variable("HOME");
  for (const std::string& prefix :
       {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), python_prefix(),
        std::string("/usr/local"), home.empty() ? home : home + "/.local"}) {
    if (prefix.empty()) continue;
    std::vector<fs::path> folders;
    add_python_places(prefix, folders);
    for (fs::path& folder : folders)
      places.push_back({std::move(folder), "the Python environment's"});
  }
  return places;
}

std::string missing_runtime() {
  return "the CUDA runtime " + std::string(runtime_name) +
         " is needed, none is loaded, nor in the system (LD_LIBRARY_PATH, CUDA_HOME, "
         "/usr/local/cuda) or in a Python environment; `pip install torch` or "
         "nvidia-cuda-runtime brings it, or name its folder in LD_LIBRARY_PATH, or deliver to the "
         "CPU";
}

/// Loads the module; the runtime first where the module would not find it by itself.
DeviceModule load() {
  if (runtime_name.empty())
    return {.reason =
                "this build has no device code; run scripts/setup --cuda and build again "
                "(HEADRACE_CUDA=ON), or deliver to the CPU"};
  const char* owner = loaded_runtime().empty() ? "the system's" : "loaded already";
  Module opened = open_module(module_file);
  if (opened.handle == nullptr && opened.reason.starts_with(runtime_name)) {
    for (const Place& place : further_places()) {
      const std::string file = (place.folder / runtime_name).string();
      if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) continue;
      owner = place.owner;
      opened = open_module(module_file);
      break;
    }
  }
  if (opened.handle != nullptr)
    return {.handle = opened.handle, .runtime = loaded_runtime() + " (" + owner + ")"};
  if (opened.reason.starts_with(runtime_name)) return {.reason = missing_runtime()};
  return {.reason = std::string("the device module ") + module_file + " cannot be opened (" +
                    opened.reason + "); install it beside the libraries, or deliver to the CPU"};
}

/// Tries again where it failed before: the runtime may have been loaded since. Under the mutex.
const DeviceModule& the_module() {
  if (!module().usable()) module() = load();
  return module();
}

[[noreturn]] void refuse(const std::string& reason) {
  throw DeviceError("[device] a device was asked for, " + reason);
}

}  // namespace

DeviceFunction device_function(const char* name) {
  const std::lock_guard lock(mutex);
  const DeviceModule& found = the_module();
  if (!found.usable()) refuse(found.reason);
  const DeviceFunction function = found.stand_in != nullptr
                                      ? found.stand_in(name)
                                      : reinterpret_cast<DeviceFunction>(dlsym(found.handle, name));
  if (function == nullptr) {
    refuse(std::string("the device module has no ") + name +
           "; it is of another version: install the one that came with the libraries");
  }
  return function;
}

std::string device_module_obstacle() {
  const std::lock_guard lock(mutex);
  return the_module().reason;
}

void stand_in_for_device_module(DeviceFunction (*find)(const char*)) {
  const std::lock_guard lock(mutex);
  module() = {.stand_in = find, .runtime = "a stand-in"};
}

}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {

std::string device_runtime() {
  const std::lock_guard lock(detail::mutex);
  const detail::DeviceModule& found = detail::the_module();
  if (!found.usable()) detail::refuse(found.reason);
  return found.runtime;
}

}  // namespace headrace::inline v1
