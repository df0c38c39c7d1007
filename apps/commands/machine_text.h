#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// A line of system.jsonl for a person, "GPU: 85 % | VRAM: 12.3/24.0 GB (51 %) | CPU: 45 % | RAM:
/// 18.4/64.0 GB"; what it does not say is left out. Empty for what is no such line.
std::string machine_text(std::string_view line);

/// "busiest: headrace-train 3.9 cores, ffmpeg 1.2 cores (not of the run)"; empty where it names
/// none.
std::string busiest_text(std::string_view line);

/// The same of a process that writes no such lines, from /proc: CPU since its start, memory,
/// threads. Empty for one that is gone.
std::string process_text(std::int64_t pid);

}  // namespace headrace::inline v1::app
