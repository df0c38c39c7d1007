#pragma once

#include <headrace/engine/base/error.h>

#include <string>

namespace headrace::test {

/// What the ConfigError says that `read` throws; empty where it throws none.
template <class Read>
std::string refusal(const Read& read) {
  try {
    read();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace headrace::test
