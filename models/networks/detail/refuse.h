#pragma once

#include <headrace/engine/base/error.h>

#include <sstream>
#include <string>
#include <vector>

namespace headrace::inline v1::models::detail {

/// "a, b, c".
inline std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Throws a `ConfigError` in the name of `who`; `parts` make its sentence.
template <typename... Parts>
[[noreturn]] void refuse(const std::string& who, const Parts&... parts) {
  std::ostringstream message;
  message << '[' << who << "] ";
  (message << ... << parts);
  throw ConfigError(message.str());
}

}  // namespace headrace::inline v1::models::detail
