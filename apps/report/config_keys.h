#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/job/job.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A key of a configuration by its full path, "training.batch", and its value as YAML in one line.
struct ConfigKey {
  std::string path{};
  std::string value{};
};

/// All keys that have a value, maps and lists of maps taken apart: "augment[1].rotate.degrees".
std::vector<ConfigKey> config_keys(const Node& config);

/// A key whose value is not the default.
struct ChangedKey {
  std::string path{};
  std::string value{};
  std::string usual{};  ///< its default; empty: there is none, or the key is not known
};

/// Keys of a run's configuration that are not at the defaults of its kind; all that have no default
/// are among them. Nothing for a kind that none of the jobs is.
std::vector<ChangedKey> changed_keys(const Node& config, const std::vector<Job>& jobs);

}  // namespace headrace::inline v1::app
