#pragma once

#include <headrace/apps/plot/chart_scale.h>
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

/// A curve over steps, of several members each with its name.
Chart step_chart(const StepHistory& steps, const std::string& name, const std::string& title);

}  // namespace headrace::inline v1::app
