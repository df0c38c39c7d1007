#include <headrace/apps/commands/start_train_program.h>
#include <headrace/engine/base/error.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {

void start_train_program(char** argv) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& program :
       {folder / "headrace-train", folder.parent_path() / "libexec/headrace/headrace-train"}) {
    std::error_code ignored;
    if (!fs::is_regular_file(program, ignored)) continue;
    // LibTorch's threads would spin at the end of every parallel region, on cores that the loader
    // and other programs want: on a busy machine a step takes several times as long. It is read
    // when their library is loaded, so it is set here; a value that is there already stays.
    ::setenv("OMP_WAIT_POLICY", "passive", 0);
    ::execv(program.c_str(), argv);
    throw ResourceError(
        fmt::format("[headrace] {} must start, got: {}", program.string(), std::strerror(errno)));
  }
  throw ConfigError(fmt::format(
      "[headrace] this command needs the program headrace-train beside {}, got none; build with "
      "LibTorch (scripts/setup, then -DHEADRACE_TORCH=ON)",
      folder.string()));
}

}  // namespace headrace::inline v1::app
