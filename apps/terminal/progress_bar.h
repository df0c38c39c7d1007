#pragma once

#include <string>

namespace headrace::inline v1::app {

/// "██████░░░░": 20 columns, filled by the share from 0 to 1.
std::string progress_bar(double share);

}  // namespace headrace::inline v1::app
