#pragma once

#include <headrace/engine/stats/trace.h>
#include <headrace/monitor/trace_file.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Writes what loaders and the trainer did in a window to a file of Chrome's trace events; gives a
/// sentence about what is in it. Throws ResourceError.
std::string write_run_trace(const std::filesystem::path& file, const std::string& what,
                            std::vector<Trace> loaders,
                            std::vector<monitor::TraceTrack> tracks = {});

}  // namespace headrace::inline v1::app
