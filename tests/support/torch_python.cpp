#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/torch_python.h>

#include <cstdlib>
#include <stdexcept>

namespace headrace::test {

namespace {

// Without importing it: PyTorch takes seconds.
bool finds(const std::string& program, const std::string& module) {
  const std::string look =
      "import importlib.util as u; raise SystemExit(u.find_spec(\"" + module + "\") is None)";
  return std::system((program + " -c '" + look + "' >/dev/null 2>&1").c_str()) == 0;
}

std::string find_python() {
  const char* named = std::getenv("HEADRACE_TORCH_PYTHON");
  const std::string first = named != nullptr ? named : HEADRACE_TORCH_ENVIRONMENT "/bin/python3";
  for (const std::string& program : {first, std::string("python3")})
    if (finds(program, "torch")) return program;
  return {};
}

}  // namespace

const std::string& python_with_torch() {
  static const std::string found = find_python();
  return found;
}

bool python_has(const std::string& module) {
  return !python_with_torch().empty() && finds(python_with_torch(), module);
}

void run_python(const std::string& script, const std::string& arguments) {
  const std::string command =
      python_with_torch() + " " + headrace::test::source_folder() + "/" + script + " " + arguments;
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

}  // namespace headrace::test
