#pragma once

#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/feed/loader_job.h>

namespace headrace::inline v1::app {

/// The loader of a configuration of `kind: loader`. Its cache is checked here.
LoaderJob make_loader_job(const LoaderConfig& config);

/// The same over a source that is open already.
LoaderJob make_loader_job(const LoaderConfig& config, PlannedSource source);

/// What a configuration's images are; data.source must be one of images. Throws ConfigError.
ImageData image_data_of(const LoaderData& config);

}  // namespace headrace::inline v1::app
