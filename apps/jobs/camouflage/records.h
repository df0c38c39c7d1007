#pragma once

#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/task/records.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

/// How masks are read: grey above 127 is the object, everything else is not.
MaskFeed object_mask();

/// The records of the job: those that `pictures` asks for, parts of `data.train` divided by
/// super-class (`cod_name.h`), whatever order their names have. Throws what open_records() throws,
/// and DataError where nothing is left.
TaskRecords camouflage_records(const CamouflageConfig& config);

/// Of these rows those that `pictures` asks for. Throws DataError where none is left; `section`
/// says of what.
std::vector<std::int64_t> wanted_pictures(const CamouflageConfig& config,
                                          const LabelledSource& source,
                                          std::vector<std::int64_t> rows, const char* section);

/// Throws DataError for a mask, among 200 of them, that has something in it but no value that is an
/// object: 0 and 1, say, in place of 0 and 255.
void require_objects(const LabelledSource& source);

}  // namespace headrace::inline v1::app
