#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace headrace::test {

/// Ends the process as a sanitizer would: something that must hold does not.
[[noreturn]] inline void finding(const std::string& what) {
  std::fprintf(stderr, "FINDING: %s\n", what.c_str());
  std::abort();
}

}  // namespace headrace::test
