#pragma once

#include <headrace/apps/config/units.h>
#include <headrace/engine/runtime/watchdog.h>

#include <string>

namespace headrace::inline v1::app {

/// The watchdog of a program's loaders: says on stderr which stage and sample stand still and what
/// the system says of every thread, then aborts: exit status 134, and a core where those are kept.
/// A duration of zero: no watchdog.
WatchdogOptions abort_on_hang(Duration after);

/// A line for each thread of this process: name, state, the kernel function it sleeps in.
std::string describe_threads();

}  // namespace headrace::inline v1::app
