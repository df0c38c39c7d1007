#pragma once

#include <headrace/monitor/memory/process_memory.h>

#include <filesystem>
#include <string_view>

namespace headrace::inline v1::monitor::detail {

/// What read_process_memory() and read_host_memory() say, for any process: its name in proc, a
/// number or "self".
ProcessMemory process_memory_of(const std::filesystem::path& root, std::string_view process);
HostMemory host_memory_of(const std::filesystem::path& root, std::string_view process);

}  // namespace headrace::inline v1::monitor::detail
