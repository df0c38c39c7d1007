#pragma once

#include <headrace/engine/stats/stats.h>

#include <string>

namespace headrace::inline v1::app {

/// The stages of a loader, a line each: items, service times, busy time, and its share of what the
/// stage's threads had in `elapsed_s`.
std::string stage_table(const LoaderStats& stats, double elapsed_s);

}  // namespace headrace::inline v1::app
