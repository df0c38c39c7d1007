#pragma once

#include <headrace/apps/task/duplicates.h>
#include <headrace/apps/task/name_groups.h>
#include <headrace/apps/task/split.h>
#include <headrace/apps/task/volume_settings.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/volume_patches.h>
#include <headrace/loaders/volume/volume_preparation.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Cases that are prepared and opened, all through one cache.
struct VolumeSet {
  std::vector<PreparedCase> prepared{};
  std::vector<VolumeCase> cases{};  ///< of the same numbers
  std::shared_ptr<BlockCache> cache{};

  std::int64_t channels() const;
  std::size_t resident_bytes() const;  ///< the cache, full, and indexes
};

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

/// Where the volumes of a data set lie prepared: below `volume.store`, of each preparation apart.
std::filesystem::path prepared_folder(const std::filesystem::path& data,
                                      const VolumeSettings& volume);

/// prepare_cases() that shows how far it is, and logs how many files were changed since they were
/// prepared; `options.on_progress` and `on_changed` are not looked at.
std::vector<PreparedCase> prepare_volumes(const std::vector<NnUNetCase>& cases,
                                          PrepareOptions options,
                                          const VolumePreparation& preparation);

/// Prepares what is not prepared yet, showing how far it is, opens and divides. Throws ConfigError,
/// for regions (classes that overlap) and data sets of other classes too; DataError; ResourceError.
VolumeRecords open_volume_records(const OpenVolumes& what, const VolumeSettings& volume);

/// What open_volume_records() refuses before it prepares anything.
void check_volume_records(const OpenVolumes& what, const VolumeSettings& volume);

/// Settings by which an index of foreground knows all labels of so many classes.
VolumeSettings naming_labels(VolumeSettings volume, std::int64_t classes);

/// Cases that are prepared, opened: `classes` and the foreground's index where they have labels.
VolumeSet open_prepared(std::vector<PreparedCase> prepared, const VolumeSettings& volume,
                        std::optional<std::int64_t> ignore);

/// Names by label of a data set, the background first. Throws ConfigError for regions.
std::vector<std::string> volume_classes(const NnUNetRaw& raw);

/// Which cases of a folder are looked for.
struct CasesWanted {
  std::size_t channels = 1;
  bool judged = false;             ///< those with labels, not those to predict
  std::filesystem::path labels{};  ///< folder of the labels; empty: what is known
  bool follow_links = false;       ///< out of the folder; false: refused
};

/// Cases to predict or to judge: a folder in nnU-Net's raw layout stands for its imagesTs, or where
/// they are judged for its labelled cases; any other folder for the images `NAME_0000.ENDING`, ...
/// in it, or of one channel, where none is numbered, `NAME.ENDING`, with labels `NAME.ENDING` of
/// `labels`, or of labels_beside() it, where there is such a folder. Opens nothing. Throws
/// ConfigError, DataError.
std::vector<NnUNetCase> find_volume_cases(const std::filesystem::path& data,
                                          const CasesWanted& wanted);

}  // namespace headrace::inline v1::app
