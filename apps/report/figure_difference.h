#pragma once

#include <headrace/apps/report/compare_runs.h>

namespace headrace::inline v1::app {

/// How a figure of a run stands to that of the first run, in words.
FigureDifference difference_of(FigureKind kind, const Spread& first, const Spread& other);

}  // namespace headrace::inline v1::app
