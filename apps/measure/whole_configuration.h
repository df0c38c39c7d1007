#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/job/job.h>
#include <headrace/apps/measure/record_bytes.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// A configuration of any kind, as it was written and with every key in use.
struct WholeConfiguration {
  Node asked{};                                  ///< the file's keys, settings applied
  Node full{};                                   ///< every key with its value
  bool trains = true;                            ///< false: `kind: loader`
  std::shared_ptr<const JobConfig> job{};        ///< of what is trained
  std::shared_ptr<const LoaderConfig> loader{};  ///< of `kind: loader`
  /// What must stay for the same to be learnt: see run_identity().
  std::map<std::string, std::string> identity{};

  /// What was asked for, as text.
  std::string yaml() const;
  /// The text of a value, "data.prefetch"; nothing where it is not a key in use, or no scalar.
  std::optional<std::string> value(std::string_view path) const;
  /// The same as a number; nothing for what is none.
  std::optional<int> number(std::string_view path) const;
};

/// Throws ConfigError.
WholeConfiguration read_whole_configuration(const std::vector<Job>& jobs, const Node& asked);

/// The same of a file with settings ("a.b=c").
WholeConfiguration read_whole_configuration(const std::vector<Job>& jobs,
                                            const std::filesystem::path& file,
                                            const std::vector<std::string>& settings);

/// Opens the data's outlines. Throws nothing.
RecordBytes record_bytes(const WholeConfiguration& configuration);

}  // namespace headrace::inline v1::app
