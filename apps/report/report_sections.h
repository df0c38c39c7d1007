#pragma once

#include <headrace/apps/report/config_keys.h>
#include <headrace/apps/report/run_cases.h>
#include <headrace/apps/report/run_record.h>
#include <headrace/apps/report/step_history.h>
#include <headrace/apps/report/system_history.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

// Parts of a report as HTML, each in the file of its name; empty where the run has nothing of it.

/// What was run, when, on what, how it ended, its goals and figures.
std::string report_head(const RunRecord& run);
/// Verdicts and advice by time, and warnings.
std::string report_advice(const RunRecord& run, const AdviceCases& advice);
/// Curves of the loss and of each figure, and of what is known between the ends of epochs.
std::string report_curves(const RunRecord& run, const StepHistory& steps);
/// What a step's time was made of, epoch by epoch.
std::string report_steps(const RunRecord& run, const StepHistory& steps);
/// Memory by phase, epoch by epoch, and its limits.
std::string report_memory(const RunRecord& run, const StepHistory& steps);
/// The machine over the run, and the spikes of its CPUs.
std::string report_system(const MachineHistory& system);
std::string report_spikes(const MachineHistory& system);
/// Each epoch, the best ones marked.
std::string report_epochs(const RunRecord& run, const StepHistory& steps);
/// The pictures of the folder that fit into one file.
std::string report_pictures(const RunRecord& run);

/// "2.11" GiB and the like: the factor that brings bytes (a second) of at most that many to a unit,
/// and its name.
struct ByteScale {
  double factor = 1.0;
  std::string unit{};
};
ByteScale byte_scale(double most);

/// A curve as a line of a chart, with another measure along both axes; where it is thinned, with
/// the means of its columns.
SvgSeries series_of(const ThinCurve& curve, double begin_x = 0.0, double factor_x = 1.0,
                    double factor_y = 1.0);

/// Points with another measure along both axes.
std::vector<CurvePoint> scaled(const std::vector<CurvePoint>& points, double begin_x,
                               double factor_x, double factor_y);

}  // namespace headrace::inline v1::app
