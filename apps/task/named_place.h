#pragma once

#include <headrace/apps/task/data_set.h>

#include <string>

namespace headrace::inline v1::app {

/// Throws ConfigError where a file or folder that the section ("data.train") names is not there,
/// with the name of the one beside it that was likely meant, or is one of the other kind.
void require_places(const DataSet& set, const std::string& section);

}  // namespace headrace::inline v1::app
