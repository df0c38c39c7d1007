#pragma once

#include <headrace/apps/watch/findings.h>

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// CPU, memory and, where there is one, the GPU over time, spikes shaded: a PNG file. Empty where
/// only the first second was watched.
std::vector<std::byte> watch_png(const std::string& title, const WatchFindings& findings);

}  // namespace headrace::inline v1::app
