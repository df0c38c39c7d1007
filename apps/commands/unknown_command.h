#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace headrace::inline v1::app {

/// What is wrong with the first word of a parsed command line that stands in a command's place and
/// is none, and what was meant; nothing if there is no such word.
std::optional<std::string> unknown_command(const CLI::App& program);

}  // namespace headrace::inline v1::app
