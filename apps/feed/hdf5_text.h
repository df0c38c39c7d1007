#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// A text attribute of an HDF5 file's root; none where there is no such text of at most 1 MiB.
/// Throws DataError for a file that cannot be opened and for an array of texts.
std::optional<std::string> read_hdf5_text(const std::filesystem::path& file, const char* name);

/// Whether the file has a dataset, group or link of that name in its root. Throws DataError for a
/// file that cannot be opened.
bool has_hdf5_object(const std::filesystem::path& file, const char* name);

}  // namespace headrace::inline v1::app
