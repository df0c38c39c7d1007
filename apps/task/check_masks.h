#pragma once

#include <headrace/apps/task/pipelines.h>
#include <headrace/apps/task/records.h>

#include <cstddef>

namespace headrace::inline v1::app {

/// Records of each source whose masks are looked at, evenly spread.
inline constexpr std::size_t most_masks_looked_at = 1000;

/// Decodes pictures and masks of so many records of each source as an evaluation does: what cannot
/// be learnt from is found before the first step. Throws DataError naming the file; with another
/// rule for bad samples than to fail such are said, and refused where they are more than its share.
/// Throws DataError, too, where the masks of the source to train on, all of them then, hold one
/// class alone.
void check_masks(const TaskRecords& records, const TaskFeed& feed, const BadSampleSettings& bad);

}  // namespace headrace::inline v1::app
