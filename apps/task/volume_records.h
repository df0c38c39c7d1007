#pragma once

#include <headrace/apps/task/duplicates.h>
#include <headrace/apps/task/name_groups.h>
#include <headrace/apps/task/split.h>
#include <headrace/apps/task/volume_set.h>
#include <headrace/apps/task/volume_settings.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The volumes of a task, prepared and divided.
struct VolumeRecords {
  VolumeSet set{};
  std::vector<std::string> classes{};    ///< by label; the background first
  std::optional<std::int64_t> ignore{};  ///< label that counts nowhere
  std::vector<NnUNetCase> cases{};       ///< as they were found; of the same numbers
  std::vector<SplitParts> members{};     ///< cases of each
  std::string copies{};                  ///< Copies::digest() of those that are divided
};

/// What the labels of a job's volumes mean, where it is the job that says it.
struct VolumeClasses {
  std::vector<std::string> names{};      ///< by label, the background first; empty: the data say it
  std::optional<std::int64_t> ignore{};  ///< label that counts nowhere
};

struct OpenVolumes {
  /// nnU-Net's raw layout; where the job says what labels mean, what plain_volumes_in() finds, too.
  std::filesystem::path folder{};
  std::filesystem::path validation{};  ///< a data set of its own; empty: a share of `folder`
  std::filesystem::path test{};        ///< likewise
  VolumeClasses expected{};
  SplitSettings split{};
  DuplicateSettings duplicates{};
  std::filesystem::path listings{};  ///< keeps what was found; empty: nothing is kept
  bool follow_links = false;         ///< out of a folder; false: refused
  std::uint64_t seed = 0;
  int threads = 1;
};

/// Cases by name; for as long as they live.
RecordNames case_names(const std::vector<NnUNetCase>& cases, const std::filesystem::path& folder);

/// Prepares what is not prepared yet, showing how far it is, opens and divides. Throws ConfigError,
/// for regions (classes that overlap) and data sets of other classes too; DataError; ResourceError.
VolumeRecords open_volume_records(const OpenVolumes& what, const VolumeSettings& volume);

/// What open_volume_records() refuses before it prepares anything.
void check_volume_records(const OpenVolumes& what, const VolumeSettings& volume);

/// Names by label of a data set, the background first. Throws ConfigError for regions.
std::vector<std::string> volume_classes(const NnUNetRaw& raw);

}  // namespace headrace::inline v1::app
