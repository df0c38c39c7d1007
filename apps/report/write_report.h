#pragma once

#include <headrace/apps/job/job.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The report of a run as one page of HTML that looks nothing up elsewhere, from what its folder
/// holds; a run may be at work in it, may have been killed, or be of a version that wrote fewer
/// files. `jobs` know the defaults of configurations; without them all keys are shown alike. Takes
/// memory for columns of charts, not for the length of the run. Throws ConfigError for a folder
/// that holds no run.
std::string report_page(const std::filesystem::path& run, const std::vector<Job>& jobs = {});

/// Writes it to report.html in the run's folder. Throws ResourceError, and what report_page()
/// throws.
void write_report(const std::filesystem::path& run, const std::vector<Job>& jobs = {});

}  // namespace headrace::inline v1::app
