#pragma once

#include <headrace/apps/job/job.h>

#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

class RunView;

/// Writes report.html into a run's folder and says so; a disk without room is a warning, since what
/// was trained is there.
void leave_report(const std::filesystem::path& folder, const std::vector<Job>& jobs, RunView& view);

}  // namespace headrace::inline v1::app
