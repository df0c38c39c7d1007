#pragma once

#include <headrace/apps/task/pipelines.h>
#include <headrace/apps/task/records.h>

namespace headrace::inline v1::app {

/// Decodes pictures and masks of at most 1000 records of each source, evenly spread, as an
/// evaluation does: what cannot be learnt from is found before the first step. Throws DataError
/// naming the file; with another rule for bad samples than to fail such are said, and refused where
/// they are more than its share.
void check_masks(const TaskRecords& records, const TaskFeed& feed, const BadSampleSettings& bad);

}  // namespace headrace::inline v1::app
