#pragma once

#include <headrace/engine/base/export.h>

#include <string>
#include <vector>

namespace headrace::inline v1::models {

/// Whether a name of a parameter or block has `pattern` somewhere; "*" stands for anything.
HEADRACE_API bool fits_pattern(const std::string& name, const std::string& pattern);

/// Whether it fits one of the patterns.
HEADRACE_API bool fits_any(const std::string& name, const std::vector<std::string>& patterns);

}  // namespace headrace::inline v1::models
