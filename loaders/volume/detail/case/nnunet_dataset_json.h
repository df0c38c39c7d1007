#pragma once

#include <headrace/loaders/volume/nnunet_raw.h>

#include <cstdint>

namespace headrace::inline v1::detail {

/// What dataset.json says of the files beside it.
struct DatasetJson {
  std::int64_t cases = 0;
};

/// Reads dataset.json in raw.folder into channels, labels, ignore, regions_class_order and
/// file_ending. Throws ConfigError naming the key, the rule and the way out.
DatasetJson read_dataset_json(NnUNetRaw& raw);

}  // namespace headrace::inline v1::detail
