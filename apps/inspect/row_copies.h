#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/inspect/survey.h>
#include <headrace/apps/task/duplicates.h>

#include <vector>

namespace headrace::inline v1::app {

/// Records of all parts whose data, the first field, are the same, however they are kept: all are
/// read. Bad records are no copies. 16 bytes a record are taken in memory. None after a stop.
Copies row_copies(const std::vector<DataPart>& parts, const SurveyOptions& options);

}  // namespace headrace::inline v1::app
