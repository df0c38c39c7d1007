#pragma once

#include <headrace/engine/base/export.h>

#include <string>

namespace headrace::inline v1::models {

/// Whether a name of a parameter or block has `pattern` somewhere; "*" stands for anything.
HEADRACE_API bool fits_pattern(const std::string& name, const std::string& pattern);

}  // namespace headrace::inline v1::models
