#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_config.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::app {

/// The data of a `kind: loader` that are no image files. Throws what make_loader_job() throws.
DataPart loader_data_part(const LoaderConfig& config);

/// What the pipeline of a configuration makes of the records at these places of its source: each
/// once an epoch and in this order, pictures in host memory and before they are normalised. Throws
/// ConfigError.
Pipeline sheet_pipeline(LoaderConfig config, const std::shared_ptr<const Source>& source,
                        std::vector<std::int64_t> places);

}  // namespace headrace::inline v1::app
