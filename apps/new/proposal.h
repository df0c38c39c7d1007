#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/apps/task/data_facts.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Of the records to train on that were looked at those that cannot be read.
struct BadRecords {
  std::int64_t count = 0;
  std::int64_t of = 0;
  std::string first{};  ///< and why
};

/// A configuration that somebody's data have suggested.
struct Proposal {
  std::shared_ptr<JobConfig> config{};
  Reasons reasons{};
  std::vector<std::string> lines{};  ///< what was found, where it is not of DataFacts; a line each
  BadRecords bad{};
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
