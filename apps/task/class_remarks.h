#pragma once

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What may be wrong with names of classes, a sentence each: two that differ by capitals alone, one
/// that stands for a missing value, numbers among names.
std::vector<std::string> class_remarks(const std::vector<std::string>& classes);

}  // namespace headrace::inline v1::app
