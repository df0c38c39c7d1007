#pragma once

#include <headrace/apps/task/data_set.h>

#include <filesystem>
#include <string>

namespace headrace::inline v1::app {

/// Throws ConfigError where the file, or with `folder` the folder, that a key names is not there,
/// with the name of the one beside it that was likely meant, or is one of the other kind.
void require_place(const std::string& key, const std::filesystem::path& value, bool folder);

/// The same of all that the section ("data.train") names.
void require_places(const DataSet& set, const std::string& section);

}  // namespace headrace::inline v1::app
