#pragma once

#include <headrace/monitor/advice.h>

#include <vector>

namespace headrace::inline v1::monitor::detail {

/// Leaves out what a more fundamental advice of the same window contradicts or makes pointless.
void drop_contradicted(std::vector<Advice>& all);

}  // namespace headrace::inline v1::monitor::detail
