#pragma once

#include <headrace/apps/inspect/survey.h>
#include <headrace/apps/job/job.h>
#include <headrace/apps/task/data_facts.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// What is to be looked at.
struct DataQuestion {
  std::filesystem::path data{};
  bool masks = false;                   ///< whether pictures have masks, else classes
  std::filesystem::path mask_folder{};  ///< where `data` is the pictures' alone
  std::string mask_suffix{};            ///< of masks' names; empty: it is found out
  std::filesystem::path root{};         ///< of a list's paths; empty: its own folder
  ManifestColumns columns{};            ///< of a list
  bool follow_links = false;            ///< out of a folder or root, and to folders
  std::optional<double> gpu_memory{};   ///< GB that a training step may take; none: as usual
  std::string preset{};                 ///< of the configuration; empty: none
  std::vector<std::string> settings{};  ///< keys of it, "a.b=c", behind the preset's
  bool check = true;                    ///< refuses what could not be trained with

  bool has_list_keys() const;
};

/// A configuration that data have suggested.
struct ProposedText {
  std::string yaml{};                ///< the lines are at its head
  std::vector<std::string> lines{};  ///< for a person: what was noticed
};

/// Whether there is a GPU of NVIDIA's.
bool has_gpu();

/// Looks at the records to train on, of many at 2000, evenly spread, and at the machine. Throws
/// what find_classes(), find_masks() and the sources throw, and DataError where no picture can be
/// read.
DataFacts look_at_data(const DataQuestion& question, SurveyOptions options);

/// A complete configuration of a kind for data that are looked at first: YAML, each key below a
/// line that says what it is and, where it was chosen, why. What a preset sets is said on standard
/// error, too. Throws ConfigError for a kind that
/// proposes none, and what look_at_data() throws; where it is checked, what a training with it
/// would throw of keys and data, too.
ProposedText propose_configuration(const std::vector<Job>& jobs, std::string_view kind,
                                   DataQuestion question, const SurveyOptions& options);

}  // namespace headrace::inline v1::app
