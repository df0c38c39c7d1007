#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/apps/task/data_facts.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A configuration that somebody's data have suggested.
struct Proposal {
  std::shared_ptr<JobConfig> config{};
  Reasons reasons{};
  std::vector<std::string> lines{};  ///< what was found, where it is not of DataFacts; a line each
};

/// A folder that a job may know, and the machine.
struct FolderQuestion {
  std::filesystem::path data{};
  int threads = 1;
  bool gpu = false;
  std::optional<double> gpu_memory{};  ///< GB that a step may take; none: the job's own idea
  bool follow_links = false;           ///< out of the folder
};

}  // namespace headrace::inline v1::app
