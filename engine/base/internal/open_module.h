#pragma once

#include <headrace/engine/base/export.h>

#include <filesystem>
#include <string>

#include <dlfcn.h>

namespace headrace::inline v1::detail {

/// A library of ours that is opened at run time, so that nobody else needs what it links.
struct Module {
  void* handle = nullptr;  ///< never closed; null: it could not be opened
  std::string reason{};    ///< why not
};

/// Opens `file`, "headrace_opencv_codecs.so" say: in headrace/ beside the library that holds the
/// engine, in lib/headrace beside a program's folder or that folder's, where an installation puts
/// it, else where the loader of programs looks. Thread-safe.
HEADRACE_API Module open_module(const std::string& file);

/// A function of a library that is opened at run time.
template <class Function>
struct ModuleFunction {
  Function* call = nullptr;  ///< null: it could not be found
  std::string reason{};      ///< why not
};

/// Opens `file` as open_module() does and looks for the function in it.
template <class Function>
ModuleFunction<Function> open_function(const std::string& file, const char* name) {
  const Module module = open_module(file);
  if (module.handle == nullptr) return {.reason = module.reason};
  return {.call = reinterpret_cast<Function*>(dlsym(module.handle, name)),
          .reason = std::string("it has no ") + name};
}

/// Where a file of ours lies that is installed with the modules, looked for as they are; empty:
/// nowhere. Thread-safe.
HEADRACE_API std::filesystem::path find_module(const std::string& file);

}  // namespace headrace::inline v1::detail
