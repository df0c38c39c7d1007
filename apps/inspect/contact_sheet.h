#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/image/image_source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

struct SheetOptions {
  int draws = 6;             ///< columns: what the pipeline makes of a record in so many epochs
  int cell = 160;            ///< pixels of a picture's longer side
  std::int64_t channel = 0;  ///< of volumes: the one that is shown
};

/// A PNG with a row for each record: the picture as it is, its mask if it has one (values in
/// colours of classes, class_colour()), and what `fed`, a pipeline over these records
/// in their order, feeds in epochs 0, 1, ... through a real loader: `image` uint8 [H, W, 3]. Throws
/// what the loader throws.
std::vector<std::byte> contact_sheet(const std::shared_ptr<const ImageSource>& source,
                                     const std::vector<std::int64_t>& records, const Pipeline& fed,
                                     const SheetOptions& options);

/// Why there is no contact sheet of a part; empty: there can be one, as it has pictures, uint8 [H,
/// W, 3], or volumes (volume_sheet.h), and a pipeline to show.
std::string why_no_sheet(const DataPart& part);

/// The same for samples that hold a picture, or volume_sheet(); why_no_sheet() must be empty. A
/// mask of classes, uint8 [H, W], goes beside its picture, in what is fed, too; 255, which counts
/// nowhere, is grey.
std::vector<std::byte> contact_sheet(const DataPart& part, const std::vector<std::int64_t>& records,
                                     const SheetOptions& options);

}  // namespace headrace::inline v1::app
