#pragma once

#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

namespace headrace::inline v1::models::detail {

/// What LibTorch has thrown as one line: without C++ backtrace, TorchScript's listing of the source
/// and advice of its zip reader, at most 300 bytes.
std::string short_message(const std::exception& error);

/// The extra file of a TorchScript file that lists the names of `state_dict`, by lines.
inline constexpr const char* state_names_file = "state_names";

/// A TorchScript file, loaded to the CPU.
struct ScriptFile {
  torch::jit::Module module;
  std::optional<std::vector<std::string>> state_names = {};  ///< empty where the file has none
};

/// Throws `ConfigError` that begins with `who` and says what the file is instead.
ScriptFile load_script(const std::filesystem::path& path, const std::string& who);

/// The file's content, with the module as it is.
std::string format_script(const ScriptFile& script);

}  // namespace headrace::inline v1::models::detail
