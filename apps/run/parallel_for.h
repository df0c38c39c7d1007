#pragma once

#include <cstddef>
#include <functional>

namespace headrace::inline v1::app {

/// Calls `work` for 0 to count - 1, each once, in any order, by `threads` threads of which one is
/// the caller's; returns when all are done. After an exception no more are begun, and one that was
/// thrown is thrown here. Threads of its own: TBB's would be no more than cores, however many an
/// option asks for, would be shared with a loader at work, and would begin far from 0.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace headrace::inline v1::app
