#pragma once

#include <headrace/apps/feed/image_data.h>

namespace CLI {
class App;
}

namespace headrace::inline v1::app {

/// Where images are, beside `data.data`, for every command that takes some.
void add_image_data(CLI::App& line, ImageData& data);

}  // namespace headrace::inline v1::app
