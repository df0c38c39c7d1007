#pragma once

#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/internal/record_values.h>

namespace headrace::inline v1::detail {

/// Images and what is known of each. No masks: the table is empty.
struct ImageListing {
  FileTable images;
  FileTable masks;
  RecordValues values;
};

}  // namespace headrace::inline v1::detail
