#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/job/goal_settings.h>
#include <headrace/apps/job/training_settings.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

enum class DeviceChoice : unsigned char { automatic, cpu, cuda };

/// What a run may hold in memory, and what is done about it before it begins.
struct MemorySettings {
  std::optional<Bytes> limit;  ///< of the process; none: what the machine offers
  std::optional<Bytes> gpu;    ///< of the GPU's memory; none: what it has free
  bool fit = false;     ///< a stage that would not fit gets smaller micro-batches, and more of them
  bool measure = true;  ///< what stages take is measured, else only counted
};

/// What every training job's configuration has beside its data and its training.
struct RunSettings {
  std::uint64_t seed = 42;
  DeviceChoice device = DeviceChoice::automatic;
  MemorySettings memory;
  Goals goals;
  std::filesystem::path runs = "runs";
  bool tensorboard = true;     ///< event files in the run folder
  std::int64_t log_every = 0;  ///< steps between rows of metrics.jsonl; 0: a time
  ThreadSettings threads;
  BadSampleSettings bad_samples;  ///< a key of the section `data`
  PlantedDelays delay;
  bool goes_on = false;  ///< no key: what was looked at before the first step ends it no more
  Node smoke;            ///< see smoke_document()
};

/// Its keys.
HEADRACE_API void describe(Fields& fields, RunSettings& settings);

struct Command;
struct DataFacts;
struct DataPart;
struct FolderQuestion;
struct LoaderJob;
struct MaskFormat;
struct Proposal;

/// A job's configuration: what every job has, and in the type of the job's room the rest.
struct HEADRACE_API JobConfig : RunSettings {
  TrainingSettings training;
  /// One for each stage of `training.stages`, with what holds in it; empty where there is no list.
  std::vector<std::shared_ptr<const JobConfig>> stages;

  /// The configuration of that stage; of a list, or this one.
  const JobConfig& of_stage(std::int64_t number) const;

  virtual ~JobConfig();

  /// Adds all keys beside `kind`. Default: those of RunSettings and the section `training`;
  /// of the tasks: `learn/task_config.h`.
  virtual void describe_keys(Fields& fields);
  /// Called with what was read, before check(): defaults that depend on other keys. Default: none.
  virtual void settle(const Fields& read);
  /// Looks at keys that must fit each other, once all are read. Throws ConfigError.
  virtual void check() const;
  /// Batches that are made ready ahead of the trainer. Default: 4.
  virtual int prefetch() const;
  /// The loader that a training run has, for a bench (`feed/loader_job.h`). Throws ConfigError by
  /// default: the job has none to show.
  virtual LoaderJob loader_job() const;
  /// What `headrace inspect` looks at (`feed/data_part.h`), one part or more. Default: the records
  /// of that loader.
  virtual std::vector<DataPart> data_parts() const;
  /// Opens and divides the data and looks at them as a training does before its first step, and
  /// keeps nothing. Throws what a training would throw of them. Default: looks at nothing.
  virtual void check_data() const;
  /// Figures that every validation of the job has and a plateau may go by: the loss gets better
  /// downwards, all others upwards; `dice_` stands for all that begin so. Default: none are said,
  /// and those count that the validation's metric has before its first case (`check_plateaus`).
  virtual std::span<const std::string> plateau_figures() const;
  /// Parameters that are not trained, by parts of their names. Default: none.
  virtual std::vector<std::string> frozen() const;
  /// How predictions are written that are masks (`task/mask_settings.h`). Default: they are none.
  virtual std::optional<MaskFormat> mask_format() const;

 protected:
  JobConfig() = default;
  JobConfig(const JobConfig&) = default;
  JobConfig& operator=(const JobConfig&) = default;
};

/// A job, as far as it needs no LibTorch.
struct Job {
  std::string name{};                                    ///< the `kind` of its configurations
  std::string help{};                                    ///< one line: what is learnt
  std::function<std::shared_ptr<JobConfig>()> config{};  ///< with its defaults
  /// The command of `headrace prepare` that makes data for it; empty: none.
  std::function<Command()> prepare{};
  /// A configuration for data that a person points at (`new/proposal.h`); empty: none is proposed.
  std::function<Proposal(const DataFacts&)> propose{};
  /// The same for a folder that the job itself knows (`new/proposal.h`), asked first; empty: none.
  std::function<std::optional<Proposal>(const FolderQuestion&)> propose_folder{};
  bool masks = false;  ///< of data that are proposed for: pictures have masks, else classes
};

}  // namespace headrace::inline v1::app
