#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/job/job.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// The kind of a pipeline without a model.
inline constexpr const char* loader_kind = "loader";

/// The job of that name, or null.
const Job* find_job(const std::vector<Job>& jobs, std::string_view name);

/// A configuration of any kind, as far as its loader goes.
struct BenchJob {
  LoaderJob loader;
  std::optional<std::uint64_t> memory;  ///< the configured limit of the process, in bytes
  std::string device_why;               ///< why it delivers to where it does, for a person
};

/// Reads a configuration with its settings ("a.b=c") for a bench; `kind` is a job's name or
/// "loader". Throws ConfigError.
BenchJob read_bench_job(const std::vector<Job>& jobs, const std::filesystem::path& file,
                        const std::vector<std::string>& settings);

/// A configuration of any kind, as far as looking at its data goes.
struct InspectJob {
  std::optional<LoaderConfig> images{};  ///< of `kind: loader` where samples are image files; else
  std::vector<DataPart> parts{};         ///< its data
};

/// Reads a configuration of any kind. Throws ConfigError, and what opening its data throws.
InspectJob read_inspect_job(const std::vector<Job>& jobs, const std::filesystem::path& file,
                            const std::vector<std::string>& settings);

/// A configuration for training and its text with every key in use.
struct TrainingJob {
  std::shared_ptr<const JobConfig> config;  ///< of the type of the job's room
  std::string name;                         ///< its `kind`
  std::string yaml;
  std::string learnt;                           ///< the same of what_is_learnt()
  std::map<std::string, std::string> identity;  ///< see run_identity()
  /// Names of it that have the job's default, or that were not written: of a configuration that was
  /// kept with all its keys, those that a later release has added.
  std::set<std::string> defaults;
  /// The same with the keys of its section `smoke`; null without one.
  std::shared_ptr<const TrainingJob> shrunk{};
};

/// Reads a configuration that can be trained; `kind` is a job's name. Throws ConfigError, for keys
/// of its section `smoke`, too.
TrainingJob read_training_job(const std::vector<Job>& jobs, const std::filesystem::path& file,
                              const std::vector<std::string>& settings);

/// The same of a document as it was read, settings applied: what is wrong is said with its place
/// there. Throws ConfigError.
TrainingJob read_training_document(const std::vector<Job>& jobs, const Node& document,
                                   const std::filesystem::path& source);

/// The same from the text that a run has kept; `source` names it in messages. Throws ConfigError.
TrainingJob read_training_text(const std::vector<Job>& jobs, const std::string& yaml,
                               const std::string& source,
                               const std::vector<std::string>& settings = {});

}  // namespace headrace::inline v1::app
