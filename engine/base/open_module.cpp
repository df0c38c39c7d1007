#include <headrace/engine/base/internal/open_module.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace headrace::inline v1::detail {

namespace {

/// The library or program that this code is part of; empty where the system does not say.
std::filesystem::path own_file() {
  Dl_info info{};
  void* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&open_module), &info, &map, RTLD_DL_LINKMAP) == 0)
    return {};
  const std::string name = static_cast<const link_map*>(map)->l_name;
  std::error_code unknown;
  // A program has no name here, and its first argument may be any.
  return name.empty() ? std::filesystem::read_symlink("/proc/self/exe", unknown)
                      : std::filesystem::absolute(name, unknown);
}

std::vector<std::string> places_of(const std::string& file) {
  std::vector<std::string> places;
  const std::filesystem::path folder = own_file().parent_path();
  if (!folder.empty()) {
    for (const char* beside : {"headrace", "../lib/headrace", "../../lib/headrace",
                               "../../../lib/headrace", HEADRACE_MODULES_FROM_PROGRAMS})
      places.push_back((folder / beside / file).string());
  }
  places.push_back(file);
  return places;
}

/// Whether there is nothing in that place. What the system says is in the user's language.
bool is_absent(const std::string& place, const std::string& reason) {
  std::error_code unknown;
  if (place.find('/') != std::string::npos) return !std::filesystem::exists(place, unknown);
  return reason.starts_with(place + ":");
}

}  // namespace

std::filesystem::path find_module(const std::string& file) {
  std::error_code unknown;
  for (const std::string& place : places_of(file)) {
    if (place != file && std::filesystem::is_regular_file(place, unknown)) return place;
  }
  return {};
}

Module open_module(const std::string& file) {
  Module module;
  for (const std::string& place : places_of(file)) {
    module.handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module.handle != nullptr) return module;
    const char* error = dlerror();
    const std::string reason = error == nullptr ? place : error;
    // Why a module that is there does not open says more than where else there is none.
    const bool absent = is_absent(place, reason);
    if (module.reason.empty() || !absent) module.reason = reason;
    if (!absent) break;
  }
  return module;
}

}  // namespace headrace::inline v1::detail
