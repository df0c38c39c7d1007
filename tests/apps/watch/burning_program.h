#pragma once

#include <headrace/tests/apps/started_program.h>

#include <filesystem>
#include <string>

namespace headrace::test {

/// Keeps so many cores busy from processes of its own, which end with it.
inline StartedProgram burning_program(const std::filesystem::path& folder, long processes) {
  const std::string each = "(while kill -0 $$; do :; done 2>/dev/null) & ";
  std::string all;
  for (long i = 0; i < processes; ++i)
    all += each;
  return {"/bin/sh", {"-c", all + "wait"}, {.folder = folder}};
}

}  // namespace headrace::test
