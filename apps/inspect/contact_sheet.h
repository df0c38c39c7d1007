#pragma once

#include <headrace/apps/feed/loader_config.h>
#include <headrace/loaders/image/image_source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::app {

struct SheetOptions {
  int draws = 6;   ///< Columns: what the pipeline makes of a record in so many epochs.
  int cell = 160;  ///< Pixels of a cell's longer side.
};

/// A PNG with a row for each record: the picture as it is, its mask if it has one, and what the
/// configuration's pipeline, run by a real loader, feeds in epochs 0, 1, ... Throws what the loader
/// throws.
std::vector<std::byte> contact_sheet(const std::shared_ptr<const ImageSource>& source,
                                     const std::vector<std::int64_t>& records,
                                     const LoaderConfig& config, const SheetOptions& options);

}  // namespace headrace::inline v1::app
