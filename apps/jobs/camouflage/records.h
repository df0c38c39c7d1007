#pragma once

#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/task/records.h>

namespace headrace::inline v1::app {

/// How masks are read: grey above 127 is the object, everything else is not.
MaskFeed object_mask();

/// The records of the job: those that `pictures` asks for, parts of `data.train` divided by
/// super-class (`cod_name.h`), whatever order their names have. Throws what open_records() throws,
/// and DataError where nothing is left.
TaskRecords camouflage_records(const CamouflageConfig& config);

/// Throws DataError where no mask of some of each part holds a value that is an object: 0 and 1,
/// say, in place of 0 and 255.
void require_objects(const TaskRecords& records);

}  // namespace headrace::inline v1::app
