#pragma once

#include <headrace/apps/feed/loader_config.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::app {

/// How many classes a source's labels have; 0: not known.
std::int64_t class_count(const Source& source);

/// What a configuration of `kind: loader` makes of a source's records. `classes` is its
/// class_count(). Throws ConfigError.
Pipeline make_loader_pipeline(const LoaderConfig& config, std::shared_ptr<const Source> source,
                              std::int64_t classes);

/// What the decoder makes of a picture, as a cache keeps it. Throws ConfigError.
Schema decoded_fields(const LoaderConfig& config, const Source& outline);

/// Throws ConfigError, ResourceError for a cache that cannot be; for the source's outline, before
/// anything of it is read.
void check_loader_cache(const LoaderConfig& config, const std::shared_ptr<const Source>& outline);

}  // namespace headrace::inline v1::app
