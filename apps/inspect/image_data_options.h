#pragma once

#include <headrace/apps/feed/image_data.h>

#include <filesystem>

namespace CLI {
class App;
}

namespace headrace::inline v1::app {

/// Where images are, beside `data.data`, for every command that takes some.
void add_image_data(CLI::App& line, ImageData& data);

/// What a list's columns are called, and where its paths lie.
void add_list(CLI::App& line, std::filesystem::path& root, ManifestColumns& columns);

/// `--follow-links`.
void add_follow_links(CLI::App& line, bool& follow_links);

}  // namespace headrace::inline v1::app
