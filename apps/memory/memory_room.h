#pragma once

#include <headrace/monitor/advice/run_facts.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// What a run can still take of memory: no more than its limit leaves beside what it holds, bytes
/// (0: no limit is known), and of shared memory what its mount has.
void add_room(monitor::MachineFacts& machine, std::uint64_t limit, std::uint64_t held);

/// Free bytes in the mount of shared memory; 0: unknown.
std::uint64_t shared_memory_room();

}  // namespace headrace::inline v1::app
