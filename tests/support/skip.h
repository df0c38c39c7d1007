#pragma once

#include <cstdio>

namespace headrace::test {

/// Says on one line that a test case was left out, and why; scripts/test counts these lines. The
/// case then returns:  `if (!device_present()) return skip("needs a GPU");`
inline void skip(const char* reason) {
  std::printf("SKIPPED: %s\n", reason);
  std::fflush(stdout);
}

}  // namespace headrace::test
