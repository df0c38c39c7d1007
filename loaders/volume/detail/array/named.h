#pragma once

#include <headrace/engine/base/error.h>

#include <string>

namespace headrace::inline v1::detail {

/// What `call` gives; a DataError of it, which says the rule alone, then names the volume.
template <class Call>
auto named(const std::string& volume, const Call& call) {
  try {
    return call();
  } catch (const DataError& error) {
    throw DataError("[volume] " + volume + ": " + error.what());
  }
}

}  // namespace headrace::inline v1::detail
