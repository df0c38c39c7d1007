#pragma once

#include <headrace/apps/plot/chart.h>

#include <vector>

namespace headrace::inline v1::app {

/// What is said at the places of a chart, side by side over its axis: at each place where there is
/// a point, or of many in at most 60 parts of the axis the range of each curve there:
/// "epoch 3: train 0.287, validation 0.255".
std::vector<ChartSpan> hover_notes(const Chart& chart);

}  // namespace headrace::inline v1::app
