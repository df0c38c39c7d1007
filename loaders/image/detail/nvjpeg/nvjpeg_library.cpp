#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_library.h>

#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <link.h>

namespace headrace::inline v1::detail {
namespace {

constexpr const char* library_file = "libnvjpeg.so.13";

int add_places_beside(dl_phdr_info* info, std::size_t, void* out) {
  auto& places = *static_cast<std::vector<std::string>*>(out);
  const std::string_view file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::size_t slash = file.rfind('/');
  if (slash == std::string_view::npos) return 0;
  const std::string folder(file.substr(0, slash + 1));
  const std::string_view name = file.substr(slash + 1);
  if (name.starts_with("libcudart.so")) places.push_back(folder + library_file);
  if (name.starts_with("libtorch_cpu.so") || name.starts_with("libc10.so"))
    places.push_back(folder + "../../nvidia/cu13/lib/" + library_file);
  return 0;
}

template <class Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) missing = name;
}

/// A function that the library has not got; empty: it has all.
std::string find_functions(void* library, nvjpeg::Functions& call) {
  std::string missing;
  find(library, "nvjpegGetProperty", call.get_property, missing);
  find(library, "nvjpegCreateEx", call.create, missing);
  find(library, "nvjpegDestroy", call.destroy, missing);
  find(library, "nvjpegJpegStateCreate", call.create_state, missing);
  find(library, "nvjpegJpegStateDestroy", call.destroy_state, missing);
  find(library, "nvjpegJpegStreamCreate", call.create_stream, missing);
  find(library, "nvjpegJpegStreamDestroy", call.destroy_stream, missing);
  find(library, "nvjpegJpegStreamParseHeader", call.parse_header, missing);
  find(library, "nvjpegDecodeBatchedSupported", call.batched_supported, missing);
  find(library, "nvjpegDecodeBatchedInitialize", call.initialize_batched, missing);
  find(library, "nvjpegDecodeBatched", call.decode_batched, missing);
  return missing;
}

std::array<int, 3> version_of(const nvjpeg::Functions& call) {
  std::array<int, 3> version{};
  for (const int part : {0, 1, 2}) {
    if (call.get_property(nvjpeg::Property{part}, &version[static_cast<std::size_t>(part)]) !=
        nvjpeg::Status::success)
      return {};
  }
  return version;
}

}  // namespace

// By its release notes earlier ones may crash on damaged files. Those before 13.4.1 may still do so
// where the damage is inside a scan, which no check of ours sees: nvjpeg_backend() says it.
std::string nvjpeg_refusal(std::array<int, 3> version) {
  if (version[0] == 13) return {};
  return "it is of version " + std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
         std::to_string(version[2]) + ", which is not 13";
}

std::vector<std::string> nvjpeg_places() {
  std::vector<std::string> places = {library_file};
  dl_iterate_phdr(add_places_beside, &places);
  return places;
}

NvjpegLibrary open_nvjpeg(std::span<const std::string> places) {
  NvjpegLibrary library;
  for (const std::string& place : places) {
    void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      if (library.reason.empty()) library.reason = dlerror();
      continue;
    }
    const std::string missing = find_functions(handle, library.call);
    if (missing.empty()) {
      library.version = version_of(library.call);
      library.reason = nvjpeg_refusal(library.version);
      library.is_open = library.reason.empty();
      if (library.is_open) return library;
      library.reason = place + ": " + library.reason;
    } else {
      library.reason = place + " has no " + missing;
    }
    dlclose(handle);
  }
  return library;
}

const NvjpegLibrary& require_nvjpeg(const std::string& who) {
  static std::mutex mutex;
  static NvjpegLibrary library;
  const std::lock_guard lock(mutex);
  if (!library.is_open) library = open_nvjpeg(nvjpeg_places());
  if (!library.is_open) {
    throw ConfigError("[" + who +
                      "] decoding on a device needs nvJPEG 13, which cannot be opened (" +
                      library.reason +
                      "); run `pip install nvidia-nvjpeg` in the environment that has torch, or "
                      "decode on the CPU");
  }
  return library;
}

}  // namespace headrace::inline v1::detail
