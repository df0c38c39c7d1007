#pragma once

#include <string>

namespace headrace::test {

inline constexpr const char* no_python = "needs Python with torch (HEADRACE_TORCH_PYTHON)";

/// An interpreter with torch, looked for once: HEADRACE_TORCH_PYTHON, else the one of the
/// environment LibTorch lies in, else the one on the path; empty where none has it.
const std::string& python_with_torch();

/// Whether that interpreter has a module, such as "timm".
bool python_has(const std::string& module);

/// Runs a script of the repository, `tests/...`, with arguments, in that interpreter. Throws
/// std::runtime_error if it fails.
void run_python(const std::string& script, const std::string& arguments);

}  // namespace headrace::test
