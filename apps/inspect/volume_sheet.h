#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Names of the fields of a sample that is a volume.
struct VolumeFields {
  std::string image{};
  std::string label{};  ///< empty: it has none
};

/// The first field float32 [C, Z, Y, X], or else of integers, and the first of integers [Z, Y, X]
/// of its size; none where there is no volume.
std::optional<VolumeFields> volume_fields(const Schema& fields);

/// Throws ConfigError where the volumes of a part have no such channel.
void check_channel(const DataPart& part, const SheetOptions& options);

/// A PNG with a row for each record: the record before the pipeline and what it feeds in epochs 0,
/// 1, ..., each as planes across z, y and x, through the label's foreground where there is some,
/// with contours of the classes. Grey goes from the 0.5 to the 99.5 percentile of the record before
/// the pipeline. A plane has `cell` pixels along its longer side, fewer where the sheet would have
/// more than 12 million. Throws what records and loader throw, and ConfigError for a pipeline that
/// feeds more rows than there are records.
std::vector<std::byte> volume_sheet(const DataPart& part, const std::vector<std::int64_t>& records,
                                    const SheetOptions& options);

}  // namespace headrace::inline v1::app
