#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace headrace::inline v1::detail {

/// Throws ConfigError, in the name of `who`, where there is no source.
inline std::shared_ptr<const Source> required(std::shared_ptr<const Source> source,
                                              const char* who) {
  if (source == nullptr) throw ConfigError("[" + std::string(who) + "] needs a source, got none");
  return source;
}

inline std::size_t at(std::int64_t i) noexcept {
  return static_cast<std::size_t>(i);
}

}  // namespace headrace::inline v1::detail
