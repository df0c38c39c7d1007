#pragma once

#include <string>

#include <doctest/doctest.h>

namespace headrace::test {

inline void check_has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace headrace::test
