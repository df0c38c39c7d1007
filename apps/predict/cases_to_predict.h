#pragma once

#include <headrace/apps/task/clean_labels.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/volume_preparation.h>

#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

/// Throws ConfigError for a folder in which predictions would replace an image or a label of these
/// cases, follow a link to one, or be taken for their labels the next time.
void require_apart_of_cases(const std::filesystem::path& output,
                            const std::vector<NnUNetCase>& cases);

/// Reads headers: throws DataError naming the file for a label that has not its image's shape, and
/// what open_volume() throws.
void require_shapes_of_labels(const std::vector<NnUNetCase>& cases);

/// Cases that a network can look at, and those whose images are 0 everywhere.
struct CasesToPredict {
  std::vector<NnUNetCase> cases{};
  std::vector<PreparedCase> prepared{};  ///< of the same numbers; fewer where a stop was asked for
  std::vector<NnUNetCase> empty{};
};

/// prepare_volumes() without labels, which goes on where images are 0 everywhere. Throws what
/// prepare_cases() throws for all else.
CasesToPredict prepare_to_predict(std::vector<NnUNetCase> cases, const PrepareOptions& options,
                                  const VolumePreparation& preparation);

/// Throws ConfigError naming the case whose crop is too large for how its labels are cleaned.
void require_predictable(const std::vector<PreparedCase>& prepared, const VolumeDecision& decision);

}  // namespace headrace::inline v1::app
