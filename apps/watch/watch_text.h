#pragma once

#include <headrace/apps/watch/findings.h>
#include <headrace/apps/watch/watch_target.h>

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What is shown while something is watched: at most four lines no wider than that.
std::vector<std::string> watch_lines(const WatchTarget& target, const WatchFindings& findings,
                                     std::size_t columns);

/// The same as one line for where there is no terminal.
std::string watch_line(const WatchTarget& target, const WatchFindings& findings);

/// The report at the end, lines with a line end each: the window, statistics, spikes with their
/// processes, the busiest, what stands out in sentences of at most `columns` columns. `own_cpu_s`:
/// what watching itself took.
std::string watch_report(const WatchTarget& target, const WatchFindings& findings, double own_cpu_s,
                         std::size_t columns = 100);

}  // namespace headrace::inline v1::app
