#pragma once

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

/// Where the volumes of a data set lie prepared: below `volume.store`, of each preparation apart.
std::filesystem::path prepared_folder(const std::filesystem::path& data,
                                      const VolumeSettings& volume);

/// prepare_cases() that shows how far it is, and logs how many files were changed since they were
/// prepared; `options.on_progress` and `on_changed` are not looked at.
std::vector<PreparedCase> prepare_volumes(const std::vector<NnUNetCase>& cases,
                                          PrepareOptions options,
                                          const VolumePreparation& preparation);

/// Settings by which an index of foreground knows all labels of so many classes.
VolumeSettings naming_labels(VolumeSettings volume, std::int64_t classes);

/// Cases that are prepared, opened: `classes` and the foreground's index where they have labels.
VolumeSet open_prepared(std::vector<PreparedCase> prepared, const VolumeSettings& volume,
                        std::optional<std::int64_t> ignore);

}  // namespace headrace::inline v1::app
